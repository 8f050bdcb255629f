import JuiceEngine
import JuiceMaker
import JuiceMessages

/// A piece of the work for an order, without Kafka, to repeat and measure.
public struct CoreCase {
    /// The name of the piece.
    public let name: String
    /// A short description.
    public let summary: String
    /// How many times it allocates memory per order in steady state.
    public let heapRequests: Int
    /// Does the piece for this many orders.
    public let run: (Int) -> Void

    private init(name: String, summary: String, heapRequests: Int = 0, run: @escaping (Int) -> Void) {
        self.name = name
        self.summary = summary
        self.heapRequests = heapRequests
        self.run = run
    }

    /// All pieces, smallest first.
    ///
    /// - Parameters:
    ///   - storeCount: how many stores the orders are for.
    ///   - distinctOrders: how many orders there are before they repeat under new ids, a power of two. As many are
    ///     remembered.
    public static func all(storeCount: Int, distinctOrders: Int = 1 << 20) -> [CoreCase] {
        let workload = OrderWorkload(count: distinctOrders, storeCount: storeCount)
        let baskets = OrderWorkload(count: min(distinctOrders, 1 << 16), storeCount: storeCount, items: 5)
        return [
            decode(workload), apply(workload), encode(workload),
            CoreCase(
                name: "order",
                summary: "decode + apply + encode",
                run: decodeApplyEncode(workload)
            ),
            CoreCase(
                name: "basket",
                summary: "the same for baskets of five juices",
                heapRequests: 1,
                run: decodeApplyEncode(baskets)
            ),
            remember(workload),
            CoreCase(
                name: "engine", summary: "everything the engine does for an order, in transactions of 10,000", run: engine(workload)
            ),
            CoreCase(name: "engine-basket", summary: "the same for baskets of five juices", heapRequests: 1, run: engine(baskets)),
            restore(workload),
        ]
    }
}

// MARK: - The codec and the domain

// The variables of a piece are passed to a function once: each access from a closure is checked for exclusivity, which would
// be a third of the measurement.

extension CoreCase {
    private static func decode(_ workload: OrderWorkload) -> CoreCase {
        let decoder = CommandDecoder(menu: OrderWorkload.menu)
        var next = 0
        return CoreCase(name: "decode", summary: "bytes to an order") { count in
            var sum = 0
            for number in next..<next + count {
                if case .command(let order) = decoder.decodeOrder(workload.value(of: number)) { sum &+= order.id.bytes.count }
            }
            next += count
            keep(sum)
        }
    }

    private static func apply(_ workload: OrderWorkload) -> CoreCase {
        let maker = JuiceMaker(menu: OrderWorkload.menu)
        var stores = workload.makeStores()
        var tally = FruitTally()
        var next = 0
        func apply(_ numbers: Range<Int>, to stores: inout [FruitStore], _ tally: inout FruitTally) -> Int {
            let juices = maker.menu.juices.count
            var sum = 0
            for number in numbers {
                let store = workload.store(of: number)
                let order = JuiceOrder.single(OrderItem(juice: number % juices, quantity: 1))
                if case .made = maker.make(order, from: &stores[store], &tally) { sum &+= 1 }
            }
            return sum
        }
        return CoreCase(name: "apply", summary: "an order to a store's stock") { count in
            keep(apply(next..<next + count, to: &stores, &tally))
            next += count
        }
    }

    private static func encode(_ workload: OrderWorkload) -> CoreCase {
        let (menu, maker) = (OrderWorkload.menu, JuiceMaker(menu: OrderWorkload.menu))
        let encoder = AnswerEncoder(menu: menu)
        let id = BorrowedText("pos-7-000000000000")
        var store = FruitStore(menu: menu)
        let contents = menu.juices.indices.map { juice in
            var content = AnswerContent()
            content.make(.single(OrderItem(juice: juice, quantity: 1)), by: maker, from: &store)
            content.revision = content.kind == .juiceMade ? 1000 : 0
            return content
        }
        var next = 0
        func encode(_ numbers: Range<Int>) -> Int {
            var buffer = OutputBuffer()
            for number in numbers {
                let head = AnswerHead(.order, id: id, store: BorrowedText(workload.key(of: number)), offset: Int64(number))
                buffer.removeAll()
                encoder.write(contents[number % contents.count], head, into: &buffer)
            }
            return buffer.count
        }
        return CoreCase(name: "encode", summary: "an answer to bytes") { count in
            keep(encode(next..<next + count))
            next += count
        }
    }

    private static func decodeApplyEncode(_ workload: OrderWorkload) -> (Int) -> Void {
        let (decoder, maker) = (CommandDecoder(menu: OrderWorkload.menu), JuiceMaker(menu: OrderWorkload.menu))
        let encoder = AnswerEncoder(menu: OrderWorkload.menu)
        var stores = workload.makeStores()
        var content = AnswerContent()
        var next = 0
        func answer(_ numbers: Range<Int>, from stores: inout [FruitStore], _ content: inout AnswerContent) -> Int {
            var buffer = OutputBuffer()
            for number in numbers {
                guard case .command(let command) = decoder.decodeOrder(workload.value(of: number)),
                    case .make(let order) = command.request
                else { continue }
                content.make(order, by: maker, from: &stores[workload.store(of: number)])
                content.revision = content.kind == .juiceMade ? number : 0
                let store = BorrowedText(workload.key(of: number))
                buffer.removeAll()
                let head = AnswerHead(.order, id: command.id, store: store, offset: Int64(number))
                encoder.write(content, head, into: &buffer)
            }
            return buffer.count
        }
        return { count in
            keep(answer(next..<next + count, from: &stores, &content))
            next += count
        }
    }
}

// MARK: - The engine

extension CoreCase {
    private static func remember(_ workload: OrderWorkload) -> CoreCase {
        var memory = DuplicateMemory(window: workload.window, valueLimit: 4 << 20)
        let ids = OrderIDs()
        var buffer = OutputBuffer()
        var store = FruitStore(menu: OrderWorkload.menu)
        var content = AnswerContent()
        content.make(.single(OrderItem(juice: 1, quantity: 1)), by: JuiceMaker(menu: OrderWorkload.menu), from: &store)
        let head = AnswerHead(.order, id: ids.id(of: 0), store: BorrowedText(workload.key(of: 0)), offset: 0)
        AnswerEncoder(menu: OrderWorkload.menu).write(content, head, into: &buffer)
        var next = 0
        func remember(_ numbers: Range<Int>, in memory: inout DuplicateMemory) {
            for number in numbers {
                let id = ids.id(of: number)
                let key = BorrowedText(workload.key(of: number))
                let fingerprint = CommandFingerprint(.order, store: key, id: id)
                guard memory.firstAnswer(to: fingerprint, sentAt: 0) == nil else { continue }
                memory.remember(.order, fingerprint, buffer.unsafeBytes, at: number % 1000, sentAt: 0)
                if number % 1000 == 999 { memory.commit(at: 0, [Offset(number - 999)..<Offset(number + 1)]) }
            }
        }
        return CoreCase(name: "remember", summary: "look an order up in the duplicate memory, and keep its answer") { count in
            remember(next..<next + count, in: &memory)
            next += count
        }
    }

    private static func engine(_ workload: OrderWorkload) -> (Int) -> Void {
        let partitionCount: Int32 = 1
        let log = DiscardingLog(workload: workload, partitionCount: partitionCount)
        let answered = Counter()
        var worker = Worker(
            log: log,
            settings: WorkerSettings(
                menu: OrderWorkload.menu,
                language: .english,
                partitionCount: partitionCount,
                group: "bench",
                instance: "bench",
                window: workload.window
            )
        ) { event in
            if case .committed(let summary) = event { answered.count += summary.commands }
        }
        return { count in
            let end = answered.count + count
            while answered.count < end { _ = worker.step() }
            keep(log.producedBytes)
        }
    }

    private static func restore(_ workload: OrderWorkload) -> CoreCase {
        let menu = OrderWorkload.menu
        let encoder = AnswerEncoder(menu: menu)
        var buffer = OutputBuffer()
        let key = BorrowedText("store-000001")
        encoder.stock(store: key, revision: 17, levels: FruitStore(menu: menu), into: &buffer)
        let value = buffer.bytes
        let restorer = StockRestorer(menu: menu)
        var sum = 0
        return CoreCase(name: "restore", summary: "a stock record to a store") { count in
            value.withUnsafeBytes { bytes in
                for _ in 0..<count {
                    if let restored = try? restorer.restore(bytes, key: key.bytes) {
                        sum &+= restored.revision
                    }
                }
            }
            keep(sum)
        }
    }
}

// MARK: - Helpers

extension OrderWorkload {
    /// A window that is full after the first lap.
    fileprivate var window: DuplicateWindow { DuplicateWindow(age: 3_600_000, count: count) }

    fileprivate func makeStores() -> [FruitStore] {
        (0..<storeCount).map { _ in FruitStore(menu: Self.menu) }
    }
}

/// Distinct ids, one after the other in the same memory.
private final class OrderIDs {
    private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 18, alignment: 8)

    init() { memory.copyBytes(from: "pos-7-000000000000".utf8) }

    deinit { memory.deallocate() }

    /// Valid until the next call.
    func id(of number: Int) -> BorrowedText {
        var rest = number
        for position in stride(from: 17, through: 6, by: -1) {
            memory[position] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        return BorrowedText(UnsafeRawBufferPointer(memory))
    }
}

private final class Counter { var count = 0 }

/// Keeps the compiler from eliminating work whose result is unused.
@inline(never)
private func keep(_ value: Int) { kept = value }
nonisolated(unsafe) private var kept = 0
