"""The analytic twin: closed forms and chains that a correct simulation must agree with where they apply."""
