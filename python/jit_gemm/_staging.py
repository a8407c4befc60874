# SPDX-License-Identifier: MIT
"""Host arrays of one launch: copied to the context's device, and results copied back."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from ._device_array import DeviceArray
from ._view import View

if TYPE_CHECKING:
    from ._context import Context

_PAGE = 256


@dataclasses.dataclass
class _Region:
    """Host memory of one or of several arrays that share bytes, and its copy."""

    begin: int
    end: int
    is_read: bool
    is_written: bool
    copy: DeviceArray | None = None


class Staging:
    """Copies of host arrays on a device. Arrays that share bytes share them there, too."""

    def __init__(self, context: Context, views: list[tuple[View, bool]], leaves_rest: bool) -> None:
        """`views`: each array, and whether the launch writes it; `leaves_rest`: not all of it."""
        self._context = context
        self._regions: list[_Region] = []
        for view, is_written in sorted(views, key=lambda entry: entry[0].first_and_end()):
            begin, end = view.first_and_end()
            # What a launch writes may have gaps, whose bytes must come back as they were.
            is_read = not is_written or leaves_rest or _has_gaps(view)
            region = _Region(begin, end, is_read, is_written)
            last = self._regions[-1] if self._regions else None
            if last is not None and begin < last.end:
                last.end = max(last.end, end)
                last.is_read = True
                last.is_written |= is_written
            else:
                self._regions.append(region)

    def upload(self) -> None:
        for region in self._regions:
            # The copy begins as the host's bytes do within 256, so that alignments are theirs.
            shift = region.begin % _PAGE
            region.copy = DeviceArray(self._context, (shift + region.end - region.begin,), "s8")
            if region.is_read and region.end > region.begin:
                region.copy.upload(region.begin, shift, region.end - region.begin)

    def pointer(self, view: View) -> int:
        """Where the first element of an array lies on the device."""
        begin, _ = view.first_and_end()
        for region in self._regions:
            is_inside = region.begin <= begin < region.end or region.begin == begin
            if region.copy is not None and is_inside:
                return region.copy.pointer + region.begin % _PAGE + view.pointer - region.begin
        raise AssertionError("an array that was not announced")

    def download(self) -> None:
        """Waits for the default stream, and copies back what was written."""
        for region in self._regions:
            if region.is_written and region.copy is not None and region.end > region.begin:
                shift = region.begin % _PAGE
                region.copy.download(region.begin, shift, region.end - region.begin)


def _has_gaps(view: View) -> bool:
    begin, end = view.first_and_end()
    count = 1
    for size in view.shape:
        count *= size
    return end - begin != count * view.bits // 8
