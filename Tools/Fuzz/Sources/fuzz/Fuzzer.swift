import Foundation
import MessageSamples

// libFuzzer provides the main function and its arguments: https://llvm.org/docs/LibFuzzer.html. The environment variable FUZZ
// selects the check.

/// The selected check, which libFuzzer calls on its one thread.
nonisolated(unsafe) private let subject: any InvariantCheck =
    switch ProcessInfo.processInfo.environment["FUZZ"] {
    case "commands": CommandCheck()
    case "answers": AnswerCheck()
    case "stock": StockCheck()
    default: fatalError("FUZZ must be commands, answers or stock")
    }

/// Checks one input. libFuzzer keeps the input if this ends the process.
@_cdecl("LLVMFuzzerTestOneInput")
public func judge(_ bytes: UnsafePointer<UInt8>?, count: Int) -> CInt {
    do throws(InvariantViolation) {
        try subject.check(UnsafeRawBufferPointer(start: bytes, count: count))
    } catch {
        // Unlike a failed precondition, this gives the reason in a release build.
        fatalError("\(error)")
    }
    return 0
}

/// Writes the inputs that libFuzzer begins with into the folder that the environment variable SAMPLES names. libFuzzer calls it
/// before it reads any.
@_cdecl("LLVMFuzzerInitialize")
public func writeSamples(_ count: UnsafeRawPointer?, _ arguments: UnsafeRawPointer?) -> CInt {
    let folder = URL(filePath: ProcessInfo.processInfo.environment["SAMPLES"] ?? "")
    for (number, sample) in subject.samples.enumerated() {
        do { try Data(sample.utf8).write(to: folder.appending(path: "\(number)")) } catch { fatalError("\(error)") }
    }
    return 0
}
