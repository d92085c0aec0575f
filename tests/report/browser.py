"""A headless Chromium that shows a page as a reader has it: width, colours, what it complains of, what it asks for."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

REQUIRED = "GEMSIM_BROWSER"  # "required": a machine without a browser fails the checks instead of leaving them out
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")


def missing() -> str:
    """Why no browser can be asked; nothing where one can."""
    return "" if CHROMIUM and DRIVER else "needs chromium and chromedriver"


def must() -> bool:
    """Whether leaving the checks out is a failure."""
    return os.environ.get(REQUIRED) == "required"


@contextmanager
def browser() -> Iterator[Browser]:
    """One browser for several pages."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    assert CHROMIUM is not None
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    switches = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")
    for switch in (*switches, "--disable-background-networking", "--no-first-run"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    try:
        yield Browser(driver)
    finally:
        driver.quit()


class Browser:
    """What a reader can do with a page."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def show(self, page: Path, *, width: int = 1280, height: int = 800, dark: bool = False) -> None:
        """Open a page at a width, in light or dark."""
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        self.driver.get_log("performance")
        self.driver.get_log("browser")
        self.driver.get(page.resolve().as_uri())

    def complaints(self) -> list[str]:
        """What the console says."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def asked_for(self) -> list[str]:
        """The addresses that the page had fetched."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]

    def ask(self, script: str) -> Any:
        """What a line of JavaScript comes to."""
        return self.driver.execute_script(f"return {script}")

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """What is seen, or the whole page, as a PNG."""
        wanted: dict[str, Any] = {"format": "png", "captureBeyondViewport": whole}
        if whole:
            size = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
            wanted["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        found = self.driver.execute_cdp_cmd("Page.captureScreenshot", wanted)
        path.write_bytes(base64.b64decode(found["data"]))

    def printed(self, path: Path) -> None:
        """The page on paper, as PDF."""
        found = self.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True, "preferCSSPageSize": True})
        path.write_bytes(base64.b64decode(found["data"]))
