"""Verbs that names of tests use: a name with none of them has a subject and no result."""

from __future__ import annotations

from typing import Final

VERBS: Final = frozenset(
    """
aborts accepts accuses adds advances advertises agree agrees answers appears appends applies are arrive arrives
asks assigns be beats became become becomes been began begin begins believes belong belongs blocks boots bounds
break breaks brings broke calls came can cannot captures carries catch cause change changes check checks chooses
cite closes come comes commits compares confirms connect connects contain contains continues contracts converts
copies copy corrects costs count counts covers crashes crosses cut cuts decide decides delays deletes depends
describes did differ differs disables diverge do does doubles drives drops edits elects encodes end ended ends
enforces enter enters equal equals escapes excludes exist exit exits expects explains fail fails falls feeds
fetch fills finds fit fits flags follow follows forbids foretells forgets formats forms forwards found gains get
gets give gives globs go goes got grants groups grow grows guards guides had hangs happens harms has have heals
hears held hides hold holds hyphens ignore ignores imports includes informs installs is joins judges jumps keep
keeps kept know knows lacks lands lasts lead leads leave leaves left lets lies limits links listens lists loads
logs look looks lose loses made makes matter may meet mends met misses moves must name names need needs notices
numbers obeys observes open opens order orders outlives overrides overrules overtakes pass passes predicts
prefer prevent prevents print prints promises proves publishes races raise raises ran reach reaches reads
recommends records recovers refuse refuses register registers release releases remains remembers removes repeats
replace replaces replays report reports requests requires restarts restores retried returns rolled run runs said
saves saw says see sees sends set sets settles share should show shows shrinks skips sorts speak stand stands
started starts stay stays steers stop stops streams sums survived survives swap swaps syncs take takes tidies
times tolerates took touches trip trips understand undoes unregisters updates upgrade use uses verifies verify
vote votes waited waits walks warns was weighs went were will wins works would write writes wrote
""".split()
)
