import Foundation
import MessageSamples

// libFuzzer brings the main function and its arguments: https://llvm.org/docs/LibFuzzer.html. The environment variable
// FUZZ says what the inputs are taken for.

/// Calls the check that the environment asks for, on libFuzzer's one thread.
nonisolated(unsafe) private let subject: any InvariantCheck =
    switch ProcessInfo.processInfo.environment["FUZZ"] {
    case "commands": CommandCheck()
    case "answers": AnswerCheck()
    case "stock": StockCheck()
    default: fatalError("FUZZ must be commands, answers or stock")
    }

/// Judges one input of libFuzzer's, which keeps it if this ends the process.
@_cdecl("LLVMFuzzerTestOneInput")
public func judge(_ bytes: UnsafePointer<UInt8>?, count: Int) -> CInt {
    do throws(InvariantViolation) {
        try subject.check(UnsafeRawBufferPointer(start: bytes, count: count))
    } catch {
        // Unlike a failed precondition it says why in a release build.
        fatalError("\(error)")
    }
    return 0
}
