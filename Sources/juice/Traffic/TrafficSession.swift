import JuiceMaker
import JuiceMessages
import JuiceService
import Kafka

/// Simulated traffic: points of sale that send orders and cancels, a bot that restocks, and a reader of the answers.
///
/// Use it on one thread, which calls ``sendOrders()`` and ``readAnswers(wait:)`` repeatedly.
final class TrafficSession {
    /// How fast orders are sent.
    enum Pace {
        /// Like people: several orders per second.
        case human
        /// As fast as answers arrive.
        case full
    }

    /// The most orders and cancels in flight, far below the number of records at which the embedded broker trims partitions.
    static let mostInFlight = 200
    /// The session fails without any answer for this long.
    static let answerTimeout = Duration.seconds(30)
    /// How long to wait for the orders in flight at the end.
    private static let closingTime = Duration.seconds(2)

    let orderLimit: Int?
    private(set) var tally = Tally()
    private(set) var sent = 0
    var inFlight: Int { sentAt.count + cancelsInFlight.count }
    /// Orders answered per second since the first was sent.
    var ordersPerSecond: Double {
        guard let firstSentAt else { return 0 }
        return Double(tally.orders) / max(0.1, (ContinuousClock.now - firstSentAt) / .seconds(1))
    }

    private let connection: Connection
    private let producer: Producer
    private let results: TopicReader
    private let decoder = AnswerDecoder()
    private var traffic: Traffic
    private var restocker: TrafficRestocker
    private let pace: Pace
    private var sentAt: [String: ContinuousClock.Instant] = [:]
    /// The ids of the orders that are being cancelled.
    private var cancelsInFlight: Set<String> = []
    private var firstSentAt: ContinuousClock.Instant?
    private var nextOrderAt = ContinuousClock.now
    private var lastAnswerAt = ContinuousClock.now
    private let deliveries = Deliveries()

    init(_ connection: Connection, traffic: Traffic, plan: TrafficPlan) throws(Failure) {
        self.connection = connection
        self.traffic = traffic
        pace = plan.pace
        orderLimit = plan.orders
        // At full speed hundreds of orders lack the same fruit before a restock is applied.
        restocker = TrafficRestocker(run: traffic.run, extra: pace == .full ? 2000 : 20)
        producer = try connection.producer(timeout: Self.answerTimeout)
        results = try TopicReader(connection, topic: connection.topics.results, deadline: Deadline(after: .seconds(10)))
        try results.startAtEnds()
    }

    /// Whether the requested number of orders has been answered, and every cancel.
    var isDone: Bool { tally.orders == orderLimit && cancelsInFlight.isEmpty }

    /// Runs until all orders are answered or `isEnded`, and then waits for the orders in flight.
    ///
    /// - Parameters:
    ///   - mayBegin: whether orders may be sent. Called before each step; may throw to end the session.
    ///   - show: receives the answers of each step, which may be none.
    func run(until isEnded: () -> Bool, mayBegin: () throws -> Bool = { true }, show: ([Answer]) throws -> Void) throws {
        while !isDone && !isEnded() {
            if try mayBegin() { try sendOrders() }
            try show(try readAnswers(wait: .milliseconds(20)))
        }
        let deadline = Deadline(after: Self.closingTime)
        while !isDone && inFlight > 0 && !deadline.isOver {
            _ = try mayBegin()
            try show(try readAnswers(wait: .milliseconds(20)))
        }
    }

    /// Reads the answers at hand, waiting up to `wait` for the first.
    ///
    /// - Returns: the answers, in order within each store.
    func readAnswers(wait: Duration) throws(Failure) -> [Answer] {
        producer.poll(timeout: .zero)
        if let error = deliveries.failure { throw connection.failure(error) }

        var answers: [Answer] = []
        try results.poll(timeout: pollTime(wait)) { record throws(Failure) in
            guard let value = record.value, let answer = try? decoder.decode(value) else { return }
            if try count(answer) { answers.append(answer) }
        }
        if !answers.isEmpty || inFlight == 0 { lastAnswerAt = .now }
        guard ContinuousClock.now - lastAnswerAt < Self.answerTimeout else {
            throw Failure(.unavailable, "no answer for \(Self.answerTimeout.inSeconds), with \(inFlight) commands in flight")
        }
        return answers
    }

    /// How long to poll: not beyond the time of the next order.
    private func pollTime(_ wait: Duration) -> Duration {
        pace == .human ? min(wait, untilNextOrder) : wait
    }

    /// Sends the orders that are due.
    func sendOrders() throws(Failure) {
        while inFlight < Self.mostInFlight, sent < orderLimit ?? .max, untilNextOrder == .zero {
            let order = traffic.next()
            sentAt[order.id] = .now
            firstSentAt = firstSentAt ?? .now
            sent += 1
            if pace == .human { nextOrderAt = .now + traffic.pause() }
            try send(.order(id: order.id, store: order.store, order.items))
            if let cancelled = traffic.nextCancelled() {
                cancelsInFlight.insert(cancelled.id)
                try send(.cancel(id: cancelled.id, store: cancelled.store))
            }
        }
    }

    private var untilNextOrder: Duration { pace == .full ? .zero : max(.zero, nextOrderAt - .now) }

    /// - Returns: whether the answer is new. The embedded broker also shows answers of transactions that were aborted and
    ///   repeated.
    private func count(_ answer: Answer) throws(Failure) -> Bool {
        switch answer.command {
        case .order:
            guard let start = sentAt.removeValue(forKey: answer.id) else { return false }
            tally.count(order: answer, after: .now - start)
        case .restock: tally.count(restock: answer)
        case .cancel:
            guard cancelsInFlight.remove(answer.id) != nil else { return false }
            tally.count(cancel: answer)
        }
        if let restock = restocker.refill(after: answer) { try send(restock) }
        return true
    }

    private func send(_ command: OutgoingCommand) throws(Failure) {
        try connection.ask { () throws(KafkaError) in
            try producer.produce(topic: connection.topics[command.kind.topic], key: Array(command.store.utf8), value: command.value)
            { [deliveries] in if case .failure(let error) = $0 { deliveries.failure = error } }
        }
    }
}

/// The last failed delivery. The producer's poll sets it, on the same thread.
private final class Deliveries { var failure: KafkaError? }
