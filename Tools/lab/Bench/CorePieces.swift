import JuiceDomain
import JuiceEngine
import JuiceMessages

/// A piece of the work for an order, without Kafka, to repeat and measure.
final class CorePiece {
    let name: String
    /// How many times it allocates memory per order in steady state.
    let allocations: Int
    private let work: (Range<Int>) -> Int
    private var next = 0

    /// A piece whose work handles the orders in a range of numbers. The result keeps the compiler from eliminating the work.
    ///
    /// The work gets the state that it changes as a parameter: accesses to captured variables are checked for exclusivity, which
    /// would be a third of the measurement.
    private init<State>(
        _ name: String, allocations: Int = 0, _ state: State, _ work: @escaping (inout State, Range<Int>) -> Int
    ) {
        var state = state
        (self.name, self.allocations, self.work) = (name, allocations, { work(&state, $0) })
    }

    /// Runs the piece for the next orders.
    func run(_ count: Int) {
        keep(work(next..<next + count))
        next += count
    }

    /// All pieces, smallest first. Orders repeat under new ids after this many distinct ones, a power of two.
    static func all(stores: Int, distinctOrders: Int = 1 << 20) -> [CorePiece] {
        let workload = OrderWorkload(count: distinctOrders, storeCount: stores)
        let baskets = OrderWorkload(count: min(distinctOrders, 1 << 16), storeCount: stores, items: 5)
        return [
            decode(workload), apply(workload), encode(workload), decodeApplyEncode("order", workload),
            // The baskets' items, and some answers that are long.
            decodeApplyEncode("basket", allocations: 1, baskets), remember(workload), engine("engine", workload),
            engine("engine-basket", allocations: 1, baskets), restore(),
        ]
    }
}

@inline(never)
private func keep(_ value: Int) { kept = value }
nonisolated(unsafe) private var kept = 0

// MARK: - The codec and the domain

private let menu = Menu.withScarceFruit

extension CorePiece {
    /// Bytes to an order.
    private static func decode(_ workload: OrderWorkload) -> CorePiece {
        CorePiece("decode", CommandDecoder(menu: menu)) { decoder, numbers in
            var sum = 0
            for number in numbers {
                if case .command(_, let id, _) = decoder.decode(workload.value(of: number), of: .orders) { sum &+= id.bytes.count }
            }
            return sum
        }
    }

    /// An order to a store's stock.
    private static func apply(_ workload: OrderWorkload) -> CorePiece {
        let maker = JuiceMaker(menu: menu)
        return CorePiece("apply", (stores: workload.makeStores(), tally: FruitTally())) { state, numbers in
            let juices = maker.menu.juices.count
            var sum = 0
            for number in numbers {
                let order = JuiceOrder.one(number % juices)
                if case .made = maker.make(order, from: &state.stores[workload.store(of: number)], &state.tally) { sum &+= 1 }
            }
            return sum
        }
    }

    /// An answer to bytes.
    private static func encode(_ workload: OrderWorkload) -> CorePiece {
        let (encoder, id) = (AnswerEncoder(menu: menu), BorrowedText("pos-7-000000000000"))
        var store = FruitStore(menu: menu)
        let contents = menu.juices.indices.map { content(juice: $0, from: &store) }
        return CorePiece("encode", ()) { _, numbers in
            var buffer = OutputBuffer()
            for number in numbers {
                let head = AnswerHead(.order, id: id, store: BorrowedText(workload.key(of: number)), offset: Int64(number))
                buffer.removeAll()
                encoder.write(contents[number % contents.count], head, into: &buffer)
            }
            return buffer.count
        }
    }

    private static func content(juice: Int, from store: inout FruitStore) -> AnswerContent {
        var content = AnswerContent()
        let order = CommandContent.make(.one(juice))
        let isMade = try? content.carryOut(order, by: JuiceMaker(menu: menu), on: &store)
        content.revision = isMade ?? false ? 1000 : 0
        return content
    }

    /// An order's bytes to its answer's.
    private static func decodeApplyEncode(_ name: String, allocations: Int = 0, _ workload: OrderWorkload) -> CorePiece {
        let (decoder, maker, encoder) = (CommandDecoder(menu: menu), JuiceMaker(menu: menu), AnswerEncoder(menu: menu))
        let state = (stores: workload.makeStores(), content: AnswerContent())
        return CorePiece(name, allocations: allocations, state) { state, numbers in
            var buffer = OutputBuffer()
            for number in numbers {
                guard case .command(_, let id, let command) = decoder.decode(workload.value(of: number), of: .orders),
                    let isMade = try? state.content.carryOut(command, by: maker, on: &state.stores[workload.store(of: number)])
                else { continue }
                state.content.revision = isMade ? number : 0
                let store = BorrowedText(workload.key(of: number))
                buffer.removeAll()
                encoder.write(
                    state.content, AnswerHead(.order, id: id, store: store, offset: Int64(number)), into: &buffer)
            }
            return buffer.count
        }
    }
}

// MARK: - The engine

extension CorePiece {
    /// Looks an order up in the duplicate memory, and keeps its answer.
    private static func remember(_ workload: OrderWorkload) -> CorePiece {
        var store = FruitStore(menu: menu)
        var answer = OutputBuffer()
        let head = AnswerHead(.order, id: workload.id(of: 0), store: BorrowedText(workload.key(of: 0)), offset: 0)
        AnswerEncoder(menu: menu).write(content(juice: 1, from: &store), head, into: &answer)
        let value = answer.bytes
        return CorePiece("remember", DuplicateMemory(window: workload.window, valueLimit: 4 << 20)) { memory, numbers in
            value.withUnsafeBytes { value in
                for number in numbers {
                    let key = BorrowedText(workload.key(of: number))
                    let fingerprint = CommandFingerprint(.order, store: key, id: workload.id(of: number))
                    guard memory.firstAnswer(to: fingerprint, sentAt: 0) == nil else { continue }
                    memory.remember(.order, fingerprint, value, at: number % 1000, was: .made, sentAt: 0)
                    if number % 1000 == 999 { memory.commit([Offset(number - 999)..<Offset(number + 1)]) }
                }
                return 0
            }
        }
    }

    /// Everything the engine does for an order, in transactions of 10,000.
    private static func engine(_ name: String, allocations: Int = 0, _ workload: OrderWorkload) -> CorePiece {
        let log = DiscardingLog(workload)
        var answered = 0
        let worker = log.worker(menu: menu) { answered += $0 }
        return CorePiece(name, allocations: allocations, worker) { worker, numbers in
            let end = answered + numbers.count
            while answered < end { _ = worker.step() }
            return log.journalBytes
        }
    }

    /// A stock record to a store.
    private static func restore() -> CorePiece {
        var buffer = OutputBuffer()
        let key = BorrowedText("store-000001")
        AnswerEncoder(menu: menu).stock(store: key, revision: 17, levels: FruitStore(menu: menu), into: &buffer)
        let value = buffer.bytes
        return CorePiece("restore", StockRestorer(menu: menu)) { restorer, numbers in
            value.withUnsafeBytes { bytes in
                numbers.reduce(0) { sum, _ in sum &+ ((try? restorer.restore(bytes, key: key.bytes))?.revision ?? 0) }
            }
        }
    }
}

extension OrderWorkload {
    /// A window that is full after the first lap.
    var window: DuplicateWindow { DuplicateWindow(age: 3_600_000, count: count) }

    fileprivate func makeStores() -> [FruitStore] { Array(repeating: FruitStore(menu: menu), count: storeCount) }
}
