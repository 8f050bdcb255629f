import JuiceEngine
import JuiceMaker
import JuiceMessages

/// A piece of the work that one order is, without Kafka, to be repeated and measured.
public struct CoreCase {
    /// A word for the piece.
    public let name: String
    /// What it does, in a few words.
    public let summary: String
    /// Whether one order may take no memory from the heap in steady state.
    public let isAllocationFree: Bool
    /// Does the piece for so many orders.
    public let run: (Int) -> Void

    /// All pieces, smallest first, for orders of so many stores.
    public static func all(storeCount: Int) -> [CoreCase] {
        let workload = OrderWorkload(count: 1_000_000, storeCount: storeCount)
        return [
            decode(workload), apply(workload), encode(workload), decodeApplyEncode(workload),
            remember(workload),
            engine(workload), restore(workload),
        ]
    }
}

// MARK: - The codec and the domain

extension CoreCase {
    private static func decode(_ workload: OrderWorkload) -> CoreCase {
        let decoder = CommandDecoder(menu: OrderWorkload.menu)
        var (number, sum) = (0, 0)
        return CoreCase(name: "decode", summary: "bytes to an order", isAllocationFree: true) { count in
            for _ in 0..<count {
                if case .command(let order) = decoder.decodeOrder(workload.value(of: number)) {
                    sum &+= order.juice
                }
                number += 1
            }
            keep(sum)
        }
    }

    private static func apply(_ workload: OrderWorkload) -> CoreCase {
        let maker = JuiceMaker(menu: OrderWorkload.menu)
        var stores = Stores(workload)
        let juices = maker.menu.juices.count
        var (number, sum) = (0, 0)
        return CoreCase(name: "apply", summary: "an order to a store's stock", isAllocationFree: true) {
            count in
            for _ in 0..<count {
                stores.withStore(of: number) { store in
                    if case .made = maker.make(number % juices, quantity: 1, from: &store) { sum &+= 1 }
                }
                number += 1
            }
            keep(sum)
        }
    }

    private static func encode(_ workload: OrderWorkload) -> CoreCase {
        let (menu, maker) = (OrderWorkload.menu, JuiceMaker(menu: OrderWorkload.menu))
        let encoder = AnswerEncoder(menu: menu)
        var store = FruitStore(menu: menu)
        var buffer = OutputBuffer()
        let outcomes = menu.juices.indices.map { maker.make($0, quantity: 1, from: &store) }
        var number = 0
        return CoreCase(name: "encode", summary: "an answer to bytes", isAllocationFree: true) { count in
            for _ in 0..<count {
                let juice = number % outcomes.count
                let order = OrderCommand(id: BorrowedText("pos-7-000000000000"), juice: juice, quantity: 1)
                let name = BorrowedText(workload.key(of: number))
                buffer.removeAll()
                switch outcomes[juice] {
                case .made: encoder.juiceMade(order, store: name, left: store, into: &buffer)
                case .outOfStock(let short):
                    encoder.outOfStock(order, store: name, shortages: short, into: &buffer)
                }
                number += 1
            }
            keep(buffer.count)
        }
    }

    private static func decodeApplyEncode(_ workload: OrderWorkload) -> CoreCase {
        let (decoder, maker) = (
            CommandDecoder(menu: OrderWorkload.menu), JuiceMaker(menu: OrderWorkload.menu)
        )
        let encoder = AnswerEncoder(menu: OrderWorkload.menu)
        var stores = Stores(workload)
        var buffer = OutputBuffer()
        var number = 0
        return CoreCase(name: "order", summary: "decode + apply + encode", isAllocationFree: true) { count in
            for _ in 0..<count {
                buffer.removeAll()
                if case .command(let order) = decoder.decodeOrder(workload.value(of: number)) {
                    let name = BorrowedText(workload.key(of: number))
                    stores.withStore(of: number) { store in
                        switch maker.make(order.juice, quantity: order.quantity, from: &store) {
                        case .made: encoder.juiceMade(order, store: name, left: store, into: &buffer)
                        case .outOfStock(let short):
                            encoder.outOfStock(order, store: name, shortages: short, into: &buffer)
                        }
                    }
                }
                number += 1
            }
            keep(buffer.count)
        }
    }
}

// MARK: - The engine

extension CoreCase {
    /// A window that is full soon, so that what is measured is its steady state.
    private static let window = DuplicateWindow(age: 3_600_000, count: 1_000_000)

    private static func remember(_ workload: OrderWorkload) -> CoreCase {
        var memory = DuplicateMemory(window: window)
        let encoder = AnswerEncoder(menu: OrderWorkload.menu)
        let store = FruitStore(menu: OrderWorkload.menu)
        var (number, sum) = (0, 0)
        let ids = OrderIDs()
        return CoreCase(
            name: "remember",
            summary: "look an order up in the duplicate memory, and note its answer",
            isAllocationFree: true
        ) { count in
            for _ in 0..<count {
                ids.withID(of: number) { id in
                    let key = BorrowedText(workload.key(of: number))
                    let fingerprint = CommandFingerprint(.order, store: key, id: id)
                    if memory.firstAnswer(to: fingerprint) == nil,
                        let compact = encoder.compactJuiceMade(
                            OrderCommand(id: id, juice: 1, quantity: 1),
                            left: store
                        )
                    {
                        memory.remember(fingerprint, .compact(compact), at: 0)
                        sum &+= 1
                    }
                }
                number += 1
                if number % 1000 == 0 { memory.commit(at: 0) }
            }
            keep(sum)
        }
    }

    private static func engine(_ workload: OrderWorkload) -> CoreCase {
        let partitionCount: Int32 = 1
        let log = DiscardingLog(workload: workload, partitionCount: partitionCount)
        let answered = Counter()
        var worker = Worker(
            log: log,
            menu: OrderWorkload.menu,
            language: .english,
            partitionCount: partitionCount,
            window: window
        ) { event in
            if case .committed(let summary) = event { answered.count += summary.commands }
        }
        return CoreCase(
            name: "engine",
            summary: "all the engine does for an order, in transactions of 10,000",
            isAllocationFree: true
        ) { count in
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
        return CoreCase(name: "restore", summary: "a stock record to a store", isAllocationFree: true) {
            count in
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

// MARK: - Help

/// The stock of a workload's stores.
private struct Stores {
    private let workload: OrderWorkload
    private var stores: [FruitStore]

    init(_ workload: OrderWorkload) {
        self.workload = workload
        stores = (0..<workload.storeCount).map { _ in FruitStore(menu: OrderWorkload.menu) }
    }

    mutating func withStore(of number: Int, _ body: (inout FruitStore) -> Void) {
        body(&stores[workload.store(of: number)])
    }
}

/// Ids that are all different, in one piece of memory.
private final class OrderIDs {
    private let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 18, alignment: 8)

    init() { memory.copyBytes(from: "pos-7-000000000000".utf8) }

    deinit { memory.deallocate() }

    func withID(of number: Int, _ body: (BorrowedText) -> Void) {
        var rest = number
        for position in stride(from: 17, through: 6, by: -1) {
            memory[position] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        body(BorrowedText(UnsafeRawBufferPointer(memory)))
    }
}

private final class Counter {
    var count = 0
}

/// Keeps the compiler from leaving out work whose result nobody looks at.
@inline(never)
private func keep(_ value: Int) { kept = value }
nonisolated(unsafe) private var kept = 0
