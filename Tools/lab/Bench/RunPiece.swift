import ArgumentParser

/// `lab bench piece`: a piece alone, for valgrind.
struct RunPiece: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "piece", abstract: "Do one piece of an order's work and print nothing: for valgrind.", shouldDisplay: false)

    @Argument var name: String
    @Option var orders: Int

    func run() throws {
        // Few distinct orders, since valgrind counts the instructions that create them, too.
        let pieces = CorePiece.all(stores: 1_000, distinctOrders: 1 << 16)
        guard let piece = pieces.first(where: { $0.name == name }) else {
            throw ValidationError("the pieces are \(pieces.map(\.name).joined(separator: ", "))")
        }
        piece.run(orders)
    }
}
