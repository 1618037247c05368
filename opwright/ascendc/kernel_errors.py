"""Errors of kernels in Ascend C while they run.

The runtime (native/ascendc/runtime) finds these and writes their texts: the place in the kernel's
source, the block, the call and its operand. The classes state what holds for all of a kind, for
docs/errors.md and for programs that read the texts.
"""

from __future__ import annotations

from opwright.errors import OpwrightError

__all__ = [
    "AlignmentError",
    "AssertionInKernelError",
    "DeadlockError",
    "EventLeftOverError",
    "EventNotSetError",
    "EventOutOfRangeError",
    "EventReuseError",
    "ExceptionInKernelError",
    "FaultInKernelError",
    "GlobalBoundsError",
    "GlobalRaceError",
    "LocalBoundsError",
    "LocalRaceError",
    "RaceOfCoresError",
    "RefusedCallError",
    "TensorInQueueError",
    "TensorNotAllocatedError",
    "UnwrittenMemoryError",
]


class RefusedCallError(OpwrightError):
    """A call with arguments or in a state that the core does not allow; the text says which."""

    id = "OPW-X001"
    title = "the core cannot do this"
    usual_fix = (
        "call it with what the text allows; queues need AllocTensor, EnQue, DeQue, FreeTensor"
    )


class FaultInKernelError(OpwrightError):
    """The kernel's code faulted: a pointer, a division by zero, a stop."""

    id = "OPW-X002"
    title = "the kernel made an invalid memory access, or divided by zero"
    usual_fix = "mend the line; only tensors of the kernel and local memory can be accessed"


class ExceptionInKernelError(OpwrightError):
    """An exception left the kernel, which devices do not have."""

    id = "OPW-X003"
    title = "the kernel threw an exception"
    usual_fix = "use nothing in a kernel that throws"


class DeadlockError(OpwrightError):
    """Each core waits for another one, or for one that has ended."""

    id = "OPW-X004"
    title = "every core of the kernel waits"
    usual_fix = "let all cores reach SyncAll, and set each flag that is waited for"


class GlobalBoundsError(OpwrightError):
    """A copy or an element lies outside of the tensors and allocations."""

    id = "OPW-X005"
    title = "global memory is accessed where none is"
    usual_fix = "copy the tail of a tensor with its own count"


class LocalBoundsError(OpwrightError):
    """An operand runs over the end of its buffer, or of the core's memory."""

    id = "OPW-X006"
    title = "local memory is accessed behind the end of a buffer"
    usual_fix = "give InitBuffer as many bytes as the instruction touches"


class AlignmentError(OpwrightError):
    """An operand does not begin at a multiple of what the instruction needs."""

    id = "OPW-X007"
    title = "an operand is not aligned"
    usual_fix = "begin at a multiple of 32 bytes"


class TensorNotAllocatedError(OpwrightError):
    """A tensor of a queue is used before AllocTensor or after FreeTensor."""

    id = "OPW-X008"
    title = "a tensor is used that is not allocated"
    usual_fix = "free the tensor after its last use"


class TensorInQueueError(OpwrightError):
    """A tensor is used between EnQue and DeQue, when another pipe may fill it."""

    id = "OPW-X009"
    title = "a tensor is used while it is in a queue"
    usual_fix = "take it out with DeQue first"


class LocalRaceError(OpwrightError):
    """Two pipes touch the same local bytes, and one of them may come too early."""

    id = "OPW-X010"
    title = "two pipes use the same local memory, and nothing orders them"
    usual_fix = "pass the tensor through a queue, or set and wait for an event between the two"


class GlobalRaceError(OpwrightError):
    """Two pipes of one core touch the same global bytes."""

    id = "OPW-X011"
    title = "two pipes use the same global memory, and nothing orders them"
    usual_fix = "set and wait for an event between the two, as MTE3_MTE2"


class UnwrittenMemoryError(OpwrightError):
    """Bytes that nobody has written leave the core, or are read by scalar code."""

    id = "OPW-X012"
    title = "local memory is read that nothing has written"
    usual_fix = "write the operand first, or use as many elements as were written"


class RaceOfCoresError(OpwrightError):
    """Two cores touch the same global bytes in any order, and one of them writes."""

    id = "OPW-X014"
    title = "two cores use the same global memory, and nothing orders them"
    usual_fix = "give each core its own part, add atomically, or synchronize"


class EventOutOfRangeError(OpwrightError):
    """An event id that the product does not have."""

    id = "OPW-X015"
    title = "an event id is out of range"
    usual_fix = "get the id with TPipe::AllocEventID or FetchEventID"


class EventReuseError(OpwrightError):
    """An event id that is in use is set again, or none is left for a buffer of a queue."""

    id = "OPW-X016"
    title = "an event id is used twice, or none is left"
    usual_fix = "wait once for each SetFlag; use at most eight buffers per position"


class EventNotSetError(OpwrightError):
    """A pipe waits for an event that nobody has set."""

    id = "OPW-X017"
    title = "an event is waited for that nobody has set"
    usual_fix = "put SetFlag with the same event and id before WaitFlag"


class EventLeftOverError(OpwrightError):
    """An event is set at the end of the kernel, and the next kernel on the core finds it."""

    id = "OPW-X018"
    title = "an event is left over at the end of the kernel"
    usual_fix = "wait for each event that is set"


class AssertionInKernelError(OpwrightError):
    """A condition of assert or ascendc_assert does not hold."""

    id = "OPW-X019"
    title = "an assertion of the kernel does not hold"
    usual_fix = "mend what makes the condition false"
