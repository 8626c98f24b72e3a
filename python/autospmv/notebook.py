"""How plans look in Jupyter."""

from __future__ import annotations

from html import escape


def html_of(explanation):
    """Choice, runner-up, baseline, what is gained and what it takes."""
    rows = [("choice", explanation.choice)]
    if explanation.runner_up is not None:
        rows.append(("runner-up", explanation.runner_up))
    if explanation.baseline is not None:
        rows.append(("baseline", explanation.baseline))
    body = "".join(
        f"<tr><th>{name}</th><td>{escape(one.format)} {escape(one.parameters)}</td><td>{_time(one.seconds)}</td>"
        f"<td>{one.bytes:,} bytes</td></tr>"
        for name, one in rows
    )
    said = [f"{escape(explanation.device)}", explanation.source if explanation.settled else "tuned online"]
    if explanation.speedup is not None:
        said.append(f"{explanation.speedup:.2f} times as fast as the baseline")
    said.append(f"{explanation.bytes_per_nonzero:.1f} bytes a nonzero")
    return f"<table><caption>{', '.join(said)}</caption>{body}</table>"


def _time(seconds):
    return f"{1e6 * seconds:.1f} &micro;s" if seconds > 0 else "not measured"
