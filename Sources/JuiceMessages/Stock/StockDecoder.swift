/// Reads records of the stock topic. Fields it does not know are ignored.
///
/// One decoder is for one thread; the records are values of their own.
public final class StockDecoder {
    private let reader = JSONReader(capacity: 4096)

    /// A decoder of stock records.
    public init() {}

    /// The record in a value, whatever its fruits are.
    public func decode(_ value: UnsafeRawBufferPointer) throws(MalformedMessage) -> StockRecord {
        let record = try reader.readObject(value)
        return StockRecord(
            store: String(try record.text("store")),
            revision: try record.integer("revision", from: 0 ... .max),
            stock: try record.amounts("stock")
        )
    }
}
