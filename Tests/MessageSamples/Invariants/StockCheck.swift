import JuiceMaker
import JuiceMessages

/// Any bytes are the stock of a store or are refused, and a stock can be written again.
public final class StockCheck: InvariantCheck {
    private let restorer = StockRestorer(menu: .standard)
    private let second = StockRestorer(menu: .standard)
    private let decoder = StockDecoder()
    private let encoder = AnswerEncoder(menu: .standard)

    /// A check by the built-in menu.
    public init() {}

    /// Checks the bytes as a stock record.
    public func check(_ value: UnsafeRawBufferPointer) throws(InvariantViolation) {
        _ = try? decoder.decode(value)
        let stock: RestoredStore
        do throws(MalformedMessage) { stock = try restorer.restore(value) } catch { return }
        try require(stock.revision >= 0, "revision \(stock.revision)")
        try require(stock.levels.fruitCount == Menu.standard.fruits.count, "\(stock.levels)")
        let isInRange = stock.levels.levels.allSatisfy { (0...FruitStore.maximumLevel).contains($0) }
        try require(isInRange, "\(stock.levels)")

        let again = bytes { encoder.stock(store: stock.store, revision: stock.revision, levels: stock.levels, into: &$0) }
        let isSame = again.withUnsafeBytes { bytes in
            // Read by the template or as JSON, the stock is the same.
            [nil, stock.store.bytes].allSatisfy { key in
                guard let restored = try? second.restore(bytes, key: key) else { return false }
                return restored.store == stock.store && restored.revision == stock.revision && restored.levels == stock.levels
            }
        }
        try require(isSame, "not the same stock again: \(String(decoding: again, as: UTF8.self))")
    }
}
