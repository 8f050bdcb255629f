import Foundation
import Synchronization

/// Somebody pressed Ctrl-C.
struct Interrupted: Error {}

/// What kept the torture itself from going on.
struct TortureError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Whether somebody pressed Ctrl-C, or asked the process to end.
enum Interruption {
    private static let flag = Atomic(false)

    static var isRequested: Bool { flag.load(ordering: .relaxed) }

    static func install() {
        for number in [SIGINT, SIGTERM] {
            signal(number) { _ in Interruption.flag.store(true, ordering: .relaxed) }
        }
    }
}

/// Waits until something holds, looking often enough that recovery times are good to some milliseconds.
///
/// - Returns: whether it came to hold in time.
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

/// The same through a proxy: what does not come to hold in time is waited for once more with a calm network, since it may only be
/// slow because of what is done to its requests.
@discardableResult
func wait(
    for timeout: Duration,
    through network: NetworkProxy?,
    until holds: () throws -> Bool
) throws -> Bool {
    if try wait(for: timeout, until: holds) { return true }
    guard let network else { return false }
    network.setCalm(true)
    defer { network.setCalm(false) }
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

/// The time by the clock that records are stamped with, in milliseconds since 1970.
func wallClock() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }

/// Runs a body on a thread of its own, since librdkafka's calls block.
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
