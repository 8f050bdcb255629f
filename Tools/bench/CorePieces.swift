import JuiceDomain
import JuiceEngine
import JuiceMessages

/// A piece of the work for an order, without Kafka, to repeat and measure.
final class CorePiece {
    let name: String
    /// How many times it allocates memory per order in steady state.
    let allocations: Int
    /// Does the piece for the orders of these numbers. The result keeps the compiler from eliminating the work.
    private let work: (Range<Int>) -> Int
    private var next = 0

    private init(_ name: String, allocations: Int = 0, _ work: @escaping (Range<Int>) -> Int) {
        (self.name, self.allocations, self.work) = (name, allocations, work)
    }

    /// Does the piece for the next orders.
    func run(_ count: Int) {
        keep(work(next..<next + count))
        next += count
    }

    /// All pieces, smallest first.
    ///
    /// - Parameters:
    ///   - stores: how many stores the orders are for.
    ///   - distinctOrders: how many orders there are before they repeat under new ids, a power of two. As many are remembered.
    static func all(stores: Int, distinctOrders: Int = 1 << 20) -> [CorePiece] {
        let workload = OrderWorkload(count: distinctOrders, storeCount: stores)
        let baskets = OrderWorkload(count: min(distinctOrders, 1 << 16), storeCount: stores, items: 5)
        return [
            CorePiece("decode", decode(workload)), CorePiece("apply", apply(workload)), CorePiece("encode", encode(workload)),
            CorePiece("order", decodeApplyEncode(workload)),
            // The baskets' items, and some answers that are long.
            CorePiece("basket", allocations: 1, decodeApplyEncode(baskets)), CorePiece("remember", remember(workload)),
            CorePiece("engine", engine(workload)), CorePiece("engine-basket", allocations: 1, engine(baskets)),
            CorePiece("restore", restore()),
        ]
    }
}

@inline(never)
private func keep(_ value: Int) { kept = value }
nonisolated(unsafe) private var kept = 0

// MARK: - The codec and the domain

// The variables of a piece are passed to a function once: each access from a closure is checked for exclusivity, which would
// be a third of the measurement.

extension CorePiece {
    /// Bytes to an order.
    private static func decode(_ workload: OrderWorkload) -> (Range<Int>) -> Int {
        let decoder = CommandDecoder(menu: .withScarceFruit)
        return { numbers in
            var sum = 0
            for number in numbers {
                if case .command(let order) = decoder.decodeOrder(workload.value(of: number)) { sum &+= order.id.bytes.count }
            }
            return sum
        }
    }

    /// An order to a store's stock.
    private static func apply(_ workload: OrderWorkload) -> (Range<Int>) -> Int {
        let maker = JuiceMaker(menu: .withScarceFruit)
        var stores = workload.makeStores()
        var tally = FruitTally()
        func apply(_ numbers: Range<Int>, to stores: inout [FruitStore], _ tally: inout FruitTally) -> Int {
            let juices = maker.menu.juices.count
            var sum = 0
            for number in numbers {
                let order = JuiceOrder.single(OrderItem(juice: number % juices, quantity: 1))
                if case .made = maker.make(order, from: &stores[workload.store(of: number)], &tally) { sum &+= 1 }
            }
            return sum
        }
        return { apply($0, to: &stores, &tally) }
    }

    /// An answer to bytes.
    private static func encode(_ workload: OrderWorkload) -> (Range<Int>) -> Int {
        let (menu, maker) = (Menu.withScarceFruit, JuiceMaker(menu: .withScarceFruit))
        let encoder = AnswerEncoder(menu: menu)
        let id = BorrowedText("pos-7-000000000000")
        var store = FruitStore(menu: menu)
        let contents = menu.juices.indices.map { juice in
            var content = AnswerContent()
            content.make(.single(OrderItem(juice: juice, quantity: 1)), by: maker, from: &store)
            content.revision = content.kind == .juiceMade ? 1000 : 0
            return content
        }
        return { numbers in
            var buffer = OutputBuffer()
            for number in numbers {
                let head = AnswerHead(.order, id: id, store: BorrowedText(workload.key(of: number)), offset: Int64(number))
                buffer.removeAll()
                encoder.write(contents[number % contents.count], head, into: &buffer)
            }
            return buffer.count
        }
    }

    /// An order's bytes to its answer's.
    private static func decodeApplyEncode(_ workload: OrderWorkload) -> (Range<Int>) -> Int {
        let (decoder, maker) = (CommandDecoder(menu: .withScarceFruit), JuiceMaker(menu: .withScarceFruit))
        let encoder = AnswerEncoder(menu: .withScarceFruit)
        var stores = workload.makeStores()
        var content = AnswerContent()
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
                encoder.write(content, AnswerHead(.order, id: command.id, store: store, offset: Int64(number)), into: &buffer)
            }
            return buffer.count
        }
        return { answer($0, from: &stores, &content) }
    }
}

// MARK: - The engine

extension CorePiece {
    /// Looks an order up in the duplicate memory, and keeps its answer.
    private static func remember(_ workload: OrderWorkload) -> (Range<Int>) -> Int {
        var memory = DuplicateMemory(window: workload.window, valueLimit: 4 << 20)
        var buffer = OutputBuffer()
        var store = FruitStore(menu: .withScarceFruit)
        var content = AnswerContent()
        content.make(.single(OrderItem(juice: 1, quantity: 1)), by: JuiceMaker(menu: .withScarceFruit), from: &store)
        let head = AnswerHead(.order, id: workload.id(of: 0), store: BorrowedText(workload.key(of: 0)), offset: 0)
        AnswerEncoder(menu: .withScarceFruit).write(content, head, into: &buffer)
        func remember(_ numbers: Range<Int>, in memory: inout DuplicateMemory) {
            for number in numbers {
                let key = BorrowedText(workload.key(of: number))
                let fingerprint = CommandFingerprint(.order, store: key, id: workload.id(of: number))
                guard memory.firstAnswer(to: fingerprint, sentAt: 0) == nil else { continue }
                memory.remember(.order, fingerprint, buffer.unsafeBytes, at: number % 1000, sentAt: 0)
                if number % 1000 == 999 { memory.commit(at: 0, [Offset(number - 999)..<Offset(number + 1)]) }
            }
        }
        return { numbers in
            remember(numbers, in: &memory)
            return 0
        }
    }

    /// Everything the engine does for an order, in transactions of 10,000.
    private static func engine(_ workload: OrderWorkload) -> (Range<Int>) -> Int {
        let log = DiscardingLog(workload)
        var answered = 0
        var worker = log.worker(menu: .withScarceFruit) { answered += $0 }
        return { numbers in
            let end = answered + numbers.count
            while answered < end { _ = worker.step() }
            return log.journalBytes
        }
    }

    /// A stock record to a store.
    private static func restore() -> (Range<Int>) -> Int {
        var buffer = OutputBuffer()
        let key = BorrowedText("store-000001")
        AnswerEncoder(menu: .withScarceFruit)
            .stock(store: key, revision: 17, levels: FruitStore(menu: .withScarceFruit), into: &buffer)
        let value = buffer.bytes
        let restorer = StockRestorer(menu: .withScarceFruit)
        return { numbers in
            value.withUnsafeBytes { bytes in
                numbers.reduce(0) { sum, _ in sum &+ ((try? restorer.restore(bytes, key: key.bytes))?.revision ?? 0) }
            }
        }
    }
}

extension OrderWorkload {
    /// A window that is full after the first lap.
    var window: DuplicateWindow { DuplicateWindow(age: 3_600_000, count: count) }

    fileprivate func makeStores() -> [FruitStore] { Array(repeating: FruitStore(menu: .withScarceFruit), count: storeCount) }
}
