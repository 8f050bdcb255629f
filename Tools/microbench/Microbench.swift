import ArgumentParser
import CMallocCount
import CoreBench

/// Measures the cost of each piece of work for an order: heap allocations, which are the same on every machine, and time.
@main
struct Microbench: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "microbench",
        abstract: "Count the heap allocations and nanoseconds of each piece of work for an order, without Kafka.",
        discussion: """
            Each piece runs in steady state, after a warm-up. For instruction counts run `make instructions`, which \
            uses valgrind and takes the difference of two runs.
            """
    )

    @Option(help: "The number of orders to measure.")
    var orders = 1_000_000

    @Option(help: "The number of stores that the orders are for.")
    var stores = 1_000

    @Option(
        help: """
            Only this piece: decode, apply, encode, order, basket, remember, engine, engine-basket or restore. A basket \
            has five juices.
            """
    )
    var only: String?

    @Flag(help: "Run the piece in --only once and print nothing: for valgrind.")
    var bare = false

    @Flag(help: "Fail if a piece allocates on the heap for each order.")
    var check = false

    func validate() throws {
        guard orders >= 1, stores >= 1 else { throw ValidationError("--orders and --stores are at least 1") }
        guard !bare || only != nil else { throw ValidationError("--bare needs --only") }
    }

    func run() throws {
        // Few distinct orders for valgrind, which also counts the instructions that create them.
        let all = CoreCase.all(storeCount: stores, distinctOrders: bare ? 1 << 16 : 1 << 20)
        let cases = all.filter { only == nil || only == $0.name }
        guard !cases.isEmpty else { throw ValidationError("the pieces are \(all.map(\.name).joined(separator: ", "))") }
        if bare { return cases[0].run(orders) }

        guard malloc_count() >= 0 else {
            print("Skipped: memory requests can be counted with glibc only")
            return
        }
        print("\(padded("piece", 14))\(padded("requests/order", -16))\(padded("ns/order", -10))")
        var wasteful: [String] = []
        for piece in cases {
            let counted = count(piece)
            let ratio = Double(counted.requests) / Double(orders)
            print("\(padded(piece.name, 14))\(padded(text(ratio, 4), -16))\(padded(text(counted.nanoseconds, 1), -10))")
            if ratio >= Double(piece.heapRequests) + Self.tolerance { wasteful.append(piece.name) }
        }
        guard check else { return }
        guard wasteful.isEmpty else {
            print("These take more memory from the heap for each order than they should: \(wasteful.joined(separator: ", "))")
            throw ExitCode.failure
        }
        print("An order takes no memory from the heap, a basket for its items and for a long answer")
    }

    /// One allocation per 250 orders: a transaction allocates, and so do some hundred baskets together, but not an order.
    private static let tolerance = 0.004

    private func count(_ piece: CoreCase) -> (requests: Int64, nanoseconds: Double) {
        piece.run(max(orders, 1 << 21))
        let (before, start) = (malloc_count(), ContinuousClock.now)
        piece.run(orders)
        let (requests, time) = (malloc_count() - before, ContinuousClock.now - start)
        return (requests, time / .nanoseconds(1) / Double(orders))
    }

    private func text(_ number: Double, _ digits: Int) -> String {
        let scale = (0..<digits).reduce(1) { scale, _ in scale * 10 }
        let (whole, rest) = Int((number * Double(scale)).rounded()).quotientAndRemainder(dividingBy: scale)
        let fraction = String(rest)
        return "\(whole)." + String(repeating: "0", count: digits - fraction.count) + fraction
    }

    /// Pads to a column: aligned left for a positive width, right for a negative one.
    private func padded(_ text: String, _ width: Int) -> String {
        let space = String(repeating: " ", count: max(0, abs(width) - text.count))
        return width > 0 ? text + space : space + text
    }
}
