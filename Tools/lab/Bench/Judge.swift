import JuiceDomain
import JuiceMessages
import MessageSamples

/// Makes sure that generated orders are answered right: each once, in each store in the order in which they were sent, and as
/// the store's stock allows.
final class Judge {
    private let name: String
    private let orders: [(store: Int, order: JuiceOrder)]
    private let maker: JuiceMaker
    private let encoder: AnswerEncoder
    private let decoder = AnswerDecoder()
    private var stores: [FruitStore]
    /// The number of each store's latest order that was answered.
    private var latest: [Int]
    private var content = AnswerContent()
    private var buffer = OutputBuffer()
    /// How many orders were answered.
    private(set) var count = 0

    /// A judge of the answers of a program with this name.
    init(_ name: String, orders: Int, stores: Int, initialStock: Int) throws {
        let menu = try Menu.standard { _ in initialStock }
        var generator = OrderGenerator(stores: stores)
        self.name = name
        self.orders = (0..<orders).map { number in
            let (store, order, _) = generator.draw(number: number)
            return (store, order)
        }
        (maker, encoder) = (JuiceMaker(menu: menu), AnswerEncoder(menu: menu))
        self.stores = Array(repeating: FruitStore(menu: menu), count: stores)
        latest = Array(repeating: -1, count: stores)
    }

    /// Judges the next answer of a partition, to the order with this number. Throws ``ToolError`` if it is wrong.
    func judge(_ number: Int, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer) throws {
        func fault(_ what: String) -> ToolError {
            ToolError("\(name) is wrong: order \(number) \(what): \(String(decoding: value, as: UTF8.self))")
        }
        guard orders.indices.contains(number) else { throw fault("was never sent") }
        let (store, order) = orders[number]
        guard latest[store] < number else { throw fault("was answered before, or a later one of its store was") }
        content.revision = try content.carryOut(.make(order), by: maker, on: &stores[store]) ? 1 : 0
        buffer.removeAll()
        // Only the outcome is compared.
        encoder.write(content, AnswerHead(.order, id: BorrowedText("-"), store: BorrowedText("-"), offset: 0), into: &buffer)
        let expected = try decoder.decode(buffer.unsafeBytes).outcome
        let storeID = OrderGenerator.store(store)
        guard let answer = try? decoder.decode(value), answer.command == .order, !answer.isDuplicate, answer.outcome == expected,
            answer.store.utf8.elementsEqual(storeID), key?.elementsEqual(storeID) == true
        else { throw fault("got another answer than \(expected) under the key of its store") }
        latest[store] = number
        count += 1
    }

    /// Judges a topic until all orders are answered. Throws ``ToolError`` for the first answer that is wrong, or if one is missing.
    func judge(_ topic: String, on cluster: BenchCluster) throws {
        let reader = try AnswerReader(cluster, of: topic)
        func poll() throws -> ContinuousClock.Instant? {
            try reader.poll { number, record, _ in
                guard let value = record.value else { return }
                try judge(number, key: record.key, value: value)
            }
        }
        try follow("answers of \(name)", to: orders.count) {
            _ = try poll()
            return count
        }
        while try poll() != nil {}
    }
}
