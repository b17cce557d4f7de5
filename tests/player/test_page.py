"""The page as a file: its policy, what of a program stands in it, its bytes, and the modules that it is made of."""

import gzip
import hashlib
import json
import re
from base64 import b64decode, b64encode

import numpy as np
import pytest

import simstrategy as ss
from simstrategy.player import PlayedRun, as_player, own_run, read_run
from simstrategy.player.modules import joined

HOSTILE = "</script><img src=x onerror=alert(1)>{{script}}"


def hostile(strategy):
    with strategy.scope():
        ss.Variable(np.zeros(2, np.float32), name=HOSTILE)
    strategy.run(lambda: ss.get_replica_context().all_reduce("SUM", np.float32(1)))


def test_the_policy_allows_the_one_script_and_the_one_style_of_the_page(page):
    text = page(hostile).read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    for tag, beginning in (("script", r'<script type="module">'), ("style", "<style>")):
        (inside,) = re.findall(f"{beginning}(.*?)</{tag}>", text, re.DOTALL)
        digest = b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert re.findall(r"(?:https?:)?//(?!www\.w3\.org/2000/svg)[\w.]+/", text.split('id="recording"')[0]) == []


def test_no_text_of_a_program_is_markup(page):
    file = page(hostile, title=HOSTILE, sources={HOSTILE: HOSTILE})
    text = file.read_text()
    assert "onerror=alert" not in text.replace("&lt;img src=x onerror=alert(1)&gt;", "")
    packed = re.search(r'id="recording">([^<]*)<', text)[1]
    data = json.loads(gzip.decompress(b64decode(packed, validate=True)))
    assert data["runs"][0]["variables"][0]["name"] == HOSTILE
    assert data["runs"][0]["sources"] == {HOSTILE: HOSTILE}


def test_the_same_recording_has_the_same_bytes(record):
    texts = {as_player("a", [PlayedRun("run", record(hostile), {"a.py": "x"})]) for _ in range(3)}
    assert len(texts) == 1
    assert as_player("a", [PlayedRun("run", record(hostile, 3), {"a.py": "x"})]) not in texts


def test_a_program_that_was_changed_is_not_shown_with_its_old_recording(record, tmp_path):
    source = {"file": "train.py", "sha256": hashlib.sha256(b"new = 1\n").hexdigest()}
    recording = record(hostile)._replace(header={"source": source})
    (tmp_path / "train.py").write_text("old = 1\n")
    assert read_run(recording, tmp_path).sources == {}
    assert own_run(recording, tmp_path).sources == {"train.py": "old = 1\n"}
    (tmp_path / "train.py").write_text("new = 1\n")
    assert read_run(recording, tmp_path).sources == {"train.py": "new = 1\n"}
    kept = record(hostile)._replace(header={"source": {**source, "text": "kept = 1\n"}})
    assert read_run(kept, tmp_path).sources == {"train.py": "kept = 1\n"}


def test_modules_are_joined_once_each_and_apart():
    modules = {
        "main.js": 'import { one } from "./a.js";\nimport { two } from "./b.js";\nlog(one, two, hidden);',
        "a.js": 'import { two } from "./b.js";\nconst hidden = 5;\nexport const one = two;',
        "b.js": "export function two() {}",
    }
    text = joined(modules, "main.js")
    assert text.count("function two") == 1
    assert text.index("function two") < text.index("const hidden") < text.index("log(one")
    assert "return { one };" in text


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ({"main.js": 'import { a } from "./a.js";', "a.js": 'import { b } from "./main.js";'}, "in a circle"),
        ({"main.js": 'import a from "./a.js";'}, "can be joined"),
        ({"main.js": "export default 1;"}, "can be joined"),
    ],
)
def test_modules_that_cannot_be_joined_are_named(modules, message):
    with pytest.raises(ValueError, match=message):
        joined(modules, "main.js")
