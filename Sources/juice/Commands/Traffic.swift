import ArgumentParser
import JuiceDomain
import JuiceMessages
import JuiceService
import Kafka

struct TrafficCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "traffic", abstract: "Send simulated commands to a running service.",
        discussion: """
            Points of sale of a few stores order juices and baskets at a human pace and cancel some of them. What runs out is \
            refilled, and each answer is printed. With --orders it runs as fast as answers arrive and ends after that many. \
            Its last line then counts the answers by their types.

            Examples:
              juice traffic
              juice traffic --bootstrap-servers kafka:9092 --orders 10000 | tail -1
            """
    )

    @OptionGroup var traffic: TrafficOptions
    @OptionGroup var menu: MenuOptions
    @OptionGroup var kafka: KafkaOptions
    @OptionGroup var general: GeneralOptions

    func run() throws {
        // Each run needs new ids: those of the last run were answered already.
        let run = String(UInt64.random(in: 0...UInt64(UInt32.max)), radix: 36) + "-"
        let session = try TrafficSession(
            KafkaClients(kafka, logger: general.logger()), stores: traffic.storeIDs(), orders: traffic.orders, menu: menu.load(),
            run: run)
        try session.run(show: AnswerCells.write)
        StandardOutput.line(session.summary)
    }
}

struct TrafficOptions: ParsableArguments {
    @Option("End after this many answered orders. Unless given, it ends at Ctrl-C.", .number(in: 1 ... .max)) var orders: Int?
    @Option("The stores, separated by commas, or one a line in a file. Unless given: gangnam,hongdae,jamsil.", .stores)
    var stores: StoreList?

    func storeIDs() throws(Failure) -> [String] { try stores?.ids() ?? ["gangnam", "hongdae", "jamsil"] }
}

/// Generates the commands of simulated points of sale. The same seed gives the same commands, restocks aside.
struct Traffic {
    /// A juice that is on no menu, to provoke rejections.
    static let unknownJuice = "durian"

    private let run: String
    private let stores: [String]
    private let juices: [String]
    private let extra: Int
    private var random: SeededGenerator
    private var orderCount = 0

    /// - Parameters:
    ///   - stores: at least one.
    ///   - run: a part of every id, such as `x7-`, so that ids of different runs differ.
    ///   - extra: how much of a fruit a restock adds beyond what an order lacked.
    init(stores: [String], menu: Menu, seed: UInt64, run: String = "", extra: Int = 20) {
        (self.run, self.stores, juices, self.extra) = (run, stores, menu.juices.map(\.id), extra)
        random = SeededGenerator(seed: seed)
    }

    /// The next order, and one time in 25 its cancel. One order in eight is a basket, one juice in eight is ordered twice, one in
    /// 40 is on no menu.
    mutating func next() -> [OutgoingCommand] {
        orderCount += 1
        let till = Int.random(in: stores.indices, using: &random)
        let (id, store) = ("pos-\(till + 1)-\(run)\(orderCount)", stores[till])
        var items: [OrderedJuice] = []
        for _ in 0..<(happens(onceIn: 8) ? Int.random(in: 2...4, using: &random) : 1) {
            let juice = juices[Int.random(in: juices.indices, using: &random)]
            let item = OrderedJuice(juice: happens(onceIn: 40) ? Self.unknownJuice : juice)
            items += happens(onceIn: 8) ? [item, item] : [item]
        }
        let order = OutgoingCommand.order(id: id, store: store, items)
        return happens(onceIn: 25) ? [order, .cancel(id: id, store: store)] : [order]
    }

    /// The restock to send after an answer; nil if none is needed. Its id follows from the order's, so a repeated answer causes no
    /// second one. Several orders that lack a fruit restock it several times: `Examples/restock_bot.py` does so once per shortage.
    func restock(after answer: Answer) -> OutgoingCommand? {
        guard case .outOfStock(_, let missing) = answer.outcome else { return nil }
        let amounts = missing.map { FruitAmount(fruit: $0.fruit, amount: $0.needed - $0.inStock + extra) }
        return .restock(id: "bot-\(answer.id)", store: answer.store, .add, amounts)
    }

    /// The pause before the next order at a human pace: about six orders per second.
    mutating func pause() -> Duration { .milliseconds(Int.random(in: 60...260, using: &random)) }

    private mutating func happens(onceIn count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
}

/// Simulated traffic: points of sale that send commands, read the answers, and restock fruits that were short.
final class TrafficSession {
    /// The most commands in flight, far below the number of records at which the embedded broker trims partitions.
    private static let mostInFlight = 200
    private static let answerTimeout = Duration.seconds(30)

    private(set) var counts: [AnswerType: Int] = [:]
    /// The commands without an answer, restocks aside, each as its kind and id.
    private var inFlight: Set<String> = []

    private let clients: KafkaClients
    private let producer: Producer
    private let results: TopicReader
    private let decoder = AnswerDecoder()
    private var traffic: Traffic
    /// Without a limit the traffic has a human pace, so that people can watch it; otherwise it is as fast as answers arrive.
    private let orderLimit: Int?
    private var orderCount = 0
    private var (nextOrderAt, lastAnswerAt) = (ContinuousClock.now, ContinuousClock.now)
    private var failedDelivery: KafkaError?

    init(
        _ clients: KafkaClients, stores: [String], orders: Int?, menu: Menu, run: String = "",
        seed: UInt64 = .random(in: 0 ... .max)
    ) throws(Failure) {
        (self.clients, orderLimit) = (clients, orders)
        // At full speed hundreds of orders lack the same fruit before a restock is applied.
        traffic = Traffic(stores: stores, menu: menu, seed: seed, run: run, extra: orders == nil ? 20 : 2000)
        producer = try clients.producer(timeout: Self.answerTimeout)
        results = try clients.newAnswers()
    }

    /// Runs until all orders are answered.
    ///
    /// - Parameters:
    ///   - mayBegin: whether orders may be sent, asked before each step. May throw to end the session.
    ///   - show: receives the answers of each step, which may be none.
    func run(mayBegin: () throws -> Bool = { true }, show: ([Answer]) -> Void) throws {
        while !inFlight.isEmpty || orderCount < orderLimit ?? .max {
            if try mayBegin() { try sendOrders() }
            show(try readAnswers())
        }
    }

    /// The last line of `juice demo` and `juice traffic`, such as `orders 300: 12 cancelled, 250 made, 45 out of stock`.
    var summary: String {
        let answers = counts.sorted { $0.key.word < $1.key.word }.map { "\($0.value) \($0.key.word)" }
        return "orders \(orderCount): \(answers.joined(separator: ", "))"
    }

    private func sendOrders() throws(Failure) {
        while inFlight.count < Self.mostInFlight, orderCount < orderLimit ?? .max, .now >= nextOrderAt {
            orderCount += 1
            if orderLimit == nil { nextOrderAt = .now + traffic.pause() }
            for command in traffic.next() {
                inFlight.insert("\(command.kind) \(command.id)")
                try send(command)
            }
        }
    }

    /// The new answers, in order within each store, after waiting a moment for the first.
    private func readAnswers() throws(Failure) -> [Answer] {
        producer.poll(timeout: .zero)
        if let error = failedDelivery { throw clients.failure(error) }

        var answers: [Answer] = []
        let wait = Duration.milliseconds(20)
        // Do not wait beyond the time of the next order.
        let timeout = orderLimit == nil ? min(wait, max(.zero, nextOrderAt - .now)) : wait
        try results.poll(timeout: timeout) { record throws(Failure) in
            guard let value = record.value, let answer = try? decoder.decode(value) else { return }
            let isExpected = inFlight.remove("\(answer.command) \(answer.id)") != nil
            // The embedded broker also shows answers of transactions that were aborted and repeated.
            guard isExpected || answer.command == .restock else { return }
            counts[answer.type, default: 0] += 1
            answers.append(answer)
            if let restock = traffic.restock(after: answer) { try send(restock) }
        }
        if !answers.isEmpty || inFlight.isEmpty { lastAnswerAt = .now }
        guard ContinuousClock.now - lastAnswerAt < Self.answerTimeout else {
            throw Failure(
                .unavailable,
                "no answer for \(DurationText.text(Self.answerTimeout)), with \(inFlight.count.counted("command")) in flight")
        }
        return answers
    }

    private func send(_ command: OutgoingCommand) throws(Failure) {
        let topic = clients.topics[command.kind.topic]
        try clients.call(
            try producer.produce(topic: topic, key: Array(command.store.utf8), value: command.value) { [weak self] in
                if case .failure(let error) = $0 { self?.failedDelivery = error }
            })
    }
}
