import Kafka
import Synchronization

/// The clients and what they have in common.
final class Load: Sendable {
    /// What a broker confirmed to have.
    struct Acknowledged: Sendable {
        let topic: String
        let partition: Int32
        let offset: Offset
        let value: [UInt8]?
    }

    private struct Repeat: Sendable {
        let due: ContinuousClock.Instant
        /// Who is to send it.
        let client: Int
        let command: Command
    }

    private struct State {
        var repeats: [Repeat] = []
        var acknowledged: [Acknowledged] = []
        var gaps = ArrivalGaps()
        var sent = 0
        var unconfirmed = 0
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
                } catch {
                    state.withLock { $0.failure = "client \(number): \(error)" }
                }
            }
            workers.withLock { $0.append(worker) }
        }
    }

    var isWanted: Bool { mayGoOn.load(ordering: .relaxed) && !Interruption.isRequested }

    var sent: Int { state.withLock { $0.sent } }

    /// Records that no broker confirmed, which may yet be there.
    var unconfirmed: Int { state.withLock { $0.unconfirmed } }

    var acknowledged: [Acknowledged] { state.withLock { $0.acknowledged } }

    /// Why a client could not go on.
    var failure: String? { state.withLock { $0.failure } }

    /// Lets the clients send what they have, repeats included, and waits for them.
    func stop() throws {
        mayGoOn.store(false, ordering: .relaxed)
        let hasEnded = try wait(for: .seconds(150)) { workers.withLock { $0.allSatisfy(\.hasEnded) } }
        if !hasEnded { throw TortureError("the clients do not get their records confirmed") }
    }

    func count(sent count: Int) { state.withLock { $0.sent += count } }

    func count(_ acknowledged: Acknowledged) {
        state.withLock {
            $0.acknowledged.append(acknowledged)
            // Restocks are too few to be steady.
            if acknowledged.topic == "orders" { $0.gaps.recordArrival(from: acknowledged.partition) }
        }
    }

    /// The longest times since the last call in which brokers confirmed no order.
    func drainGaps() -> ArrivalGaps.Longest { state.withLock { $0.gaps.drain() } }

    func countUnconfirmed() { state.withLock { $0.unconfirmed += 1 } }

    func schedule(_ command: Command, by client: Int, after delay: Duration) {
        state.withLock {
            $0.repeats.append(Repeat(due: .now + delay, client: client, command: command))
        }
    }

    /// Takes the commands that this client has to repeat by now.
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
