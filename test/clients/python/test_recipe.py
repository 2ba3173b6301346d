# Copyright 2026 The Lake Authors. SPDX-License-Identifier: Apache-2.0
"""The program of docs/clients.md, run as it is but for the address."""

import os
import re


def test_the_recipe_of_the_page():
    with open(os.environ["LAKE_DOC"], encoding="utf-8") as f:
        (program,) = re.findall(r"```python\n(.*?)```", f.read(), re.DOTALL)
    assert program.count("127.0.0.1:50051") == 1
    scope = {}
    exec(program.replace("127.0.0.1:50051", os.environ["LAKE_QUERY"]), scope)
    assert scope["result"].to_pylist() == [{"id": 2, "note": "lift"}]
