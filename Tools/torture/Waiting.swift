import Foundation
import Synchronization

/// The user interrupted the run.
struct Interrupted: Error {}

/// Why the torture itself failed.
struct TortureError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Whether the process got SIGINT or SIGTERM.
enum Interruption {
    private static let flag = Atomic(false)

    static var isRequested: Bool { flag.load(ordering: .relaxed) }

    static func install() {
        for number in [SIGINT, SIGTERM] { signal(number) { _ in Interruption.flag.store(true, ordering: .relaxed) } }
    }
}

/// Waits until a condition holds. It polls every 5 ms, which is the precision of recovery times.
///
/// - Returns: whether the condition held in time.
@discardableResult
func wait(for timeout: Duration, until holds: () throws -> Bool) throws -> Bool {
    let deadline = ContinuousClock.now + timeout
    while true {
        if Interruption.isRequested { throw Interrupted() }
        if try holds() { return true }
        if ContinuousClock.now > deadline { return false }
        usleep(5_000)
    }
}

/// Waits with a proxy. If the condition does not hold in time, waits again without faults, because they may have been the only
/// reason for the delay.
@discardableResult
func wait(
    for timeout: Duration,
    through network: NetworkProxy?,
    until holds: () throws -> Bool
) throws -> Bool {
    if try wait(for: timeout, until: holds) { return true }
    guard let network else { return false }
    network.pauseFaults()
    defer { network.resumeFaults() }
    return try wait(for: timeout, until: holds)
}

extension Duration {
    var seconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }

    /// Such as `0.42 s`.
    var text: String { String(format: "%.2f s", seconds) }
}

/// The wall-clock time, as in record timestamps, in milliseconds since 1970.
func wallClock() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

/// Runs a body on a thread of its own, because librdkafka's calls block.
final class Worker: Sendable {
    private let isDone = Atomic(false)

    init(_ name: String, _ body: @escaping @Sendable () -> Void) {
        let thread = Thread { [self] in
            body()
            isDone.store(true, ordering: .releasing)
        }
        thread.name = name
        thread.start()
    }

    /// Whether the body has returned.
    var hasEnded: Bool { isDone.load(ordering: .acquiring) }
}
