import JuiceMaker

/// Writes the commands that clients send.
///
/// It validates nothing: a client with no menu, or an old one, can still send, and the service answers.
public enum CommandEncoder {
    /// Appends an order.
    public static func order(
        id: String,
        juice: String,
        quantity: Int = 1,
        into buffer: inout OutputBuffer
    ) {
        buffer.append(#"{"orderId":"#)
        buffer.append(quoted: id)
        buffer.append(#","juice":"#)
        buffer.append(quoted: juice)
        buffer.append(#","quantity":"#)
        buffer.append(decimal: quantity)
        buffer.append("}")
    }

    /// Appends a restock of these fruits.
    public static func restock(
        id: String,
        _ kind: StockEdit.Kind,
        _ amounts: [FruitAmount],
        into buffer: inout OutputBuffer
    ) {
        buffer.append(#"{"restockId":"#)
        buffer.append(quoted: id)
        switch kind {
        case .add: buffer.append(#","add":{"#)
        case .set: buffer.append(#","set":{"#)
        }
        for (position, entry) in amounts.enumerated() {
            if position > 0 { buffer.append(",") }
            buffer.append(quoted: entry.fruit)
            buffer.append(":")
            buffer.append(decimal: entry.amount)
        }
        buffer.append("}}")
    }
}
