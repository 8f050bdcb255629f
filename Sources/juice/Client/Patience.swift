import ArgumentParser
import Foundation
import Kafka
import Logging
import Synchronization

/// A command that supervisors run, so its start waits.
protocol PatientCommand: ParsableCommand {}

/// Lets the start of `serve` and `kiosk` wait: a file may not be rendered yet, an address not assigned, a port not released.
/// Supervisors do not restart a process whose configuration is wrong, so before it contacts a broker, a start waits for anything
/// that may still come by itself. Other commands fail at once.
///
/// There is nothing to finish yet, so a signal ends the process at once.
final class Patience: Sendable {
    /// The patience of the current start; nil if it does not wait.
    @TaskLocal private static var current: Patience?
    /// How many seconds after its last change a file may still be incomplete.
    private static let settlingTime = 5.0

    private let logger: Logger
    private let stop: StopSignal
    private let deadline: Deadline
    private let files = Mutex<Set<String>>([])

    /// - Parameters:
    ///   - stop: ends the process while it waits.
    ///   - limit: how long the whole start may wait.
    init(_ logger: Logger, until stop: StopSignal = StopSignal(), limit: Duration = .seconds(60)) {
        (self.logger, self.stop, deadline) = (logger, stop, Deadline(after: limit))
    }

    /// Runs `body`, in which each ``waiting(_:)`` waits. It may run `body` again, which must be able to reread its input.
    static func having<Value>(_ patience: Patience?, _ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        func attempt() throws(Failure) -> Value {
            do throws(Failure) { return try body() } catch {
                var error = error
                // A half-written file is no reason to end, nor is a certificate whose key comes a moment later.
                if error.status == .configuration, patience?.isBeingWritten ?? false { error.overdue = .configuration }
                throw error
            }
        }
        return try $current.withValue(patience) { Result { () throws(Failure) in try waiting(attempt) } }.get()
    }

    /// Makes an attempt, and repeats it while its failure may pass. Logs each new failure once. It blocks.
    ///
    /// - Throws: the failure, at once if waiting cannot help, otherwise with the status ``Failure/overdue`` once the time is over.
    static func waiting<Value>(_ attempt: () throws(Failure) -> Value) throws(Failure) -> Value {
        var message: String?
        while true {
            do throws(Failure) { return try attempt() } catch {
                guard let patience = current, let status = error.overdue else { throw error }
                if patience.deadline.isOver { throw Failure(status, "gave up waiting: \(error.message)", hint: error.hint) }
                if error.message != message { patience.logger.warning("waiting: \(error.message)") }
                message = error.message
                patience.stop.wait(for: patience.deadline.step())
                if patience.stop.isRequested { exit(EXIT_SUCCESS) }
            }
        }
    }

    static func reads(_ path: String) { current?.files.withLock { _ = $0.insert(path) } }

    /// Whether one of the files that were read was changed a moment ago. False if one was a pipe, which cannot be read again.
    private var isBeingWritten: Bool {
        let ages = files.withLock(\.self).map { path -> TimeInterval? in
            let file = URL(filePath: path).resolvingSymlinksInPath().path
            let attributes = try? FileManager.default.attributesOfItem(atPath: file)
            guard attributes?[.type] as? FileAttributeType == .typeRegular else { return nil }
            return (attributes?[.modificationDate] as? Date).map { abs($0.timeIntervalSinceNow) }
        }
        return !ages.contains(nil) && ages.contains { $0 ?? .infinity < Self.settlingTime }
    }
}
