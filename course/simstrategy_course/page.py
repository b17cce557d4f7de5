"""A page of what a submission did: the run in which the difference shows, beside one that is right."""

from simstrategy.player import PlayedRun, as_player, opening_stop
from simstrategy_course.holes import template_of
from simstrategy_course.running import PROGRAM
from simstrategy_course.submission import Submission
from simstrategy_course.verdict import Verdict

__all__ = ["page_of"]


def page_of(submission: Submission, verdict: Verdict) -> str | None:
    """Returns the HTML of a page, None where there is no run to show.  The solution is not in it."""
    runs = [run for run in verdict.shown if run.recording is not None and run.recording.points]
    if not runs:
        return None
    lesson = submission.lesson
    sources = {f"lesson_{lesson.number}.py": submission.text, PROGRAM: template_of(lesson.solution)}
    recordings = [run.recording for run in runs if run.recording is not None]
    at = opening_stop(recordings[-1], None, recordings[0] if len(recordings) > 1 else None)
    hint = "" if verdict.idea is None else f"{verdict.idea.name}. {verdict.idea.hint}"
    played = [
        PlayedRun(str(run.setting), recording, sources, {at: hint} if run is runs[-1] and hint else {})
        for run, recording in zip(runs, recordings, strict=True)
    ]
    return as_player(f"{submission.name}: {lesson.title}", played, start=(len(played) - 1, at))
