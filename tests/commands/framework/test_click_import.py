from __future__ import annotations

import inspect
import platform
import shutil
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkactl.commands import main
from kafkactl.commands.framework.click_import import Deferred, clean_text
from tests.repository.tree import ROOT


@given(st.text(st.sampled_from(" \n\tab"), max_size=40))
def test_help_text_is_cleaned_as_by_the_standard_library(text):
    assert clean_text(text) == inspect.cleandoc(text)


def test_deferred_module_gives_what_the_real_one_has():
    module = Deferred("inspect", cleandoc=clean_text)
    assert module.cleandoc is clean_text
    assert module.signature is inspect.signature
    assert vars(module)["signature"] is inspect.signature  # the next time nothing is looked up
    with pytest.raises(AttributeError):
        _ = module.no_such_name


def test_afterwards_everybody_else_has_the_real_modules():
    script = """
from kafkactl.commands.framework.click_import import import_click
import_click()
import click, dataclasses, uuid
import sys
assert not {"inspect", "platform", "gettext"} & set(sys.modules)
import inspect, platform, gettext
for module in (inspect, platform, gettext):
    assert module.__file__, module
assert click.core.inspect is not inspect and click.core.inspect.isfunction is inspect.isfunction
assert uuid.UUID(int=1).int == 1 and dataclasses.make_dataclass("A", ["x"])(1).x == 1
import_click()
print(platform.system())
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout.strip() == platform.system()


def test_name_that_is_asked_for_during_the_import_is_the_real_one():
    script = """
import sys
from kafkactl.commands.framework.click_import import Deferred
sys.modules["colorsys"] = Deferred("colorsys")
from colorsys import rgb_to_hsv
import colorsys
print(colorsys.__file__.endswith("colorsys.py"), rgb_to_hsv(1, 1, 1)[2])
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout.split() == ["True", "1"]


@pytest.mark.parametrize("columns", ["", "0", "-3", "words", "20", "64", "90", "200"])
def test_width_of_help_is_that_of_click(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    wide = shutil.get_terminal_size().columns
    assert main._help_width() == max(min(wide, main.WIDEST_HELP) - 2, 50)
