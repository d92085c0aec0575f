"""What each key of a fleet means: unlike devices, what fails together or again, spares, repair, retirement, checks."""

from __future__ import annotations

FLEET: dict[str, str] = {
    "failures.frailty.kind": "Each device has its own multiple of the rate; or some are lemons and all others alike.",
    "failures.frailty.shape": "Variance of the multiples is 1 / shape, their mean 1; `gamma` only.",
    "failures.frailty.share": "Share of devices that are lemons; `lemons` only.",
    "failures.frailty.multiplier": "Rate of a lemon over that of a good device; `lemons` only.",
    "failures.frailty.of": "Whose rate `rate` is: the mean over all devices, or that of a good one (`lemons` only).",
    "failures.classes.batch.sizes": "Law of the number struck at once, as [number, probability]. What the job does "
    "not have is cut off.",
    "failures.classes.batch.within": "What those struck at once share; who of it is struck is drawn alike.",
    "failures.classes.common_cause.beta": "Share of a device's failures that take its whole domain; they make a class "
    "NAME+DOMAIN.",
    "failures.classes.common_cause.within": "The domain.",
    "failures.classes.recurrence.again": "P(the device fails again), after each failure of it.",
    "failures.classes.recurrence.gap": "From a failure to the one that follows it, on the clock of the class.",
    "failures.classes.recurrence.gap.kind": "Shape of the law.",
    "failures.classes.recurrence.gap.mean": "Mean time.",
    "failures.classes.recurrence.gap.shape": "Weibull or gamma k, or the lognormal's sigma; not for exponential.",
    "fleet.spares": "Nodes beyond the job's, in place of `cluster.spare_nodes`.",
    "fleet.repair": "What a node that was taken out goes through, in place of the repair time of its failure's class.",
    "fleet.retire": "Nodes that fail too often are taken out for good.",
    "fleet.checks": "Health checks of the job's nodes.",
    "fleet.spares.hot": "Nodes that stand by and are taken first; repaired nodes make up their number again.",
    "fleet.spares.warm": "Nodes that are powered, and can fail; taken when no hot one is left.",
    "fleet.spares.cold": "Nodes that are off, and cannot fail; taken when no warm one is left either.",
    "fleet.spares.unit": "What comes and goes as one, in repair too. A tray counts as a node. `rack` needs "
    "`cluster.replace: rack` and whole racks of each kind.",
    "fleet.spares.activation": "From the call for a spare until it can start, by kind.",
    "fleet.spares.join_fails": "P(a spare that is called does not start); it goes to repair, and the next is tried.",
    "fleet.spares.join_timeout": "From when it should have started until that is noticed.",
    "fleet.spares.selection": "To choose hosts anew, when no hot one is left; refills the hot ones from the warm.",
    "fleet.spares.choose": "`random`: that choice draws all hosts of the job anew from those at hand.",
    "fleet.spares.borrow": "Nodes that can be taken from other jobs, once no spare is left, in the whole run. They "
    "stay.",
    "fleet.spares.borrow_each": "To take one of them; one after the other.",
    "fleet.spares.short": "What the job does where all of this is not enough: wait for a repair, or run on without the "
    "data-parallel groups that lack a node.",
    "fleet.spares.placed": "`apart`: in racks of their own, which no failure of the job's racks reaches. `spread`: "
    "among the nodes of the job, in turn over its racks; whoever joins keeps its rack.",
    "fleet.spares.activation.hot": "Of a hot spare.",
    "fleet.spares.activation.warm": "Of a warm spare; of a repaired or borrowed one that is not needed as a hot one.",
    "fleet.spares.activation.cold": "Of a cold spare.",
    "fleet.repair.stages": "One after the other, each for nodes that the one before did not mend; at most 8.",
    "fleet.repair.misdiagnosis": "P(a healthy node of the job is taken out instead, and the one at fault stays).",
    "fleet.repair.parts": "Spare parts of the last stage.",
    "fleet.repair.stages.name": "What sweeps call the stage.",
    "fleet.repair.stages.time": "In the hands of a crew.",
    "fleet.repair.stages.escalate": "P(the next stage follows); 0 at the last.",
    "fleet.repair.stages.silent": "P(a node that leaves here is not mended, and nobody knows): a lemon stays one.",
    "fleet.repair.stages.crews": "Nodes worked on at once, in order of arrival; 0 is no limit.",
    "fleet.repair.parts.needed": "Share of the nodes at the last stage that take a part.",
    "fleet.repair.parts.stock": "Parts that lie ready at the start. Each is ordered anew when it is taken.",
    "fleet.repair.parts.lead": "From the order until it is there. A node that waits for it keeps no crew.",
    "fleet.retire.after": "So many failures of a node in the job ...",
    "fleet.retire.within": "... in this time.",
    "fleet.retire.score": "In place of both: a sum in which each failure counts 2^(-age / `half_life`).",
    "fleet.retire.half_life": "Of a failure in that sum.",
    "fleet.retire.restock": "Until a new node comes in place of one that was retired.",
    "fleet.checks.every": "Time between two checks of a node; sets how often there are false alarms.",
    "fleet.checks.finds": "P(a failure that takes a node out is found before it strikes): detection takes no time, "
    "and the job saves first.",
    "fleet.checks.false_positives": "P(one check of a healthy node takes it out); needs `fleet.repair`.",
}
