import Kafka
import Synchronization

/// The clients and their shared state.
final class Load: Sendable {
    /// A record that a broker acknowledged.
    struct Acknowledged: Sendable {
        let topic: String
        let partition: Int32
        /// Nil if the broker did not tell.
        let offset: Offset?
        let value: [UInt8]?
    }

    private struct Repeat: Sendable {
        let due: ContinuousClock.Instant
        /// The number of the client that sends it.
        let client: Int
        let command: Command
    }

    private struct State {
        var repeats: [Repeat] = []
        var acknowledged: [Acknowledged] = []
        var gaps = ArrivalGaps()
        var sent = 0
        var failure: String?
    }

    private let state = Mutex(State())
    private let mayGoOn = Atomic(true)
    private let workers = Mutex<[Worker]>([])

    /// Starts the clients.
    init(plan: Plan) {
        for number in 0..<plan.clients {
            let worker = Worker("client-\(number)") { [self] in
                do throws(KafkaError) {
                    var client = try Client(number: number, plan: plan, load: self)
                    try client.run()
                } catch { state.withLock { $0.failure = "client \(number): \(error)" } }
            }
            workers.withLock { $0.append(worker) }
        }
    }

    var isWanted: Bool { mayGoOn.load(ordering: .relaxed) && !Interruption.isRequested }

    var sent: Int { state.withLock { $0.sent } }

    var acknowledged: [Acknowledged] { state.withLock { $0.acknowledged } }

    /// Why a client failed, if one did.
    var failure: String? { state.withLock { $0.failure } }

    /// Lets the clients finish, including due repeats, and waits for them.
    func stop() throws {
        mayGoOn.store(false, ordering: .relaxed)
        let hasEnded = try wait(for: .seconds(150)) { workers.withLock { $0.allSatisfy(\.hasEnded) } }
        if !hasEnded { throw TortureError("the clients do not get their records confirmed") }
    }

    func countSent() { state.withLock { $0.sent += 1 } }

    func record(_ acknowledged: Acknowledged) {
        state.withLock {
            $0.acknowledged.append(acknowledged)
            // Restocks are too few to be steady.
            if acknowledged.topic == "orders" { $0.gaps.record(arrivalFrom: acknowledged.partition) }
        }
    }

    /// Returns the longest gaps in the acknowledgements of orders since the last call.
    func drainGaps() -> ArrivalGaps.Longest { state.withLock { $0.gaps.drain() } }

    func schedule(_ command: Command, by client: Int, after delay: Duration) {
        state.withLock { $0.repeats.append(Repeat(due: .now + delay, client: client, command: command)) }
    }

    /// Removes and returns the commands that this client has to repeat now.
    func dueRepeats(for client: Int) -> [Command] {
        let now = ContinuousClock.now
        return state.withLock { state in
            let isMine = { (item: Repeat) in item.client == client && item.due <= now }
            guard state.repeats.contains(where: isMine) else { return [] }
            defer { state.repeats.removeAll(where: isMine) }
            return state.repeats.filter(isMine).map(\.command)
        }
    }
}
