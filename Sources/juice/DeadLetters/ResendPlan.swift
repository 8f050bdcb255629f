import JuiceMaker
import JuiceMessages
import JuiceService
import Kafka

/// What becomes of a dead letter that is to be sent again: the record to send, or why there is none.
struct ResendPlan {
    /// The record to send, in place of the one that was put aside.
    struct Record: Equatable {
        let topic: String
        let partition: Int32
        let key: [UInt8]?
        let value: [UInt8]?
        let headers: [RecordHeader]
    }

    /// Why a dead letter is not sent again.
    struct Refusal: Error, Equatable {
        let reason: String
    }

    let topics: TopicNames
    /// Of orders and restocks.
    let partitionCount: Int32
    /// In place of the value; nil keeps it.
    var value: [UInt8]?
    /// In place of the key; nil keeps it, an empty one is none.
    var key: [UInt8]?
    /// Whether to send also what is no command.
    var isUnchecked = false

    private let decoder = CommandDecoder(menu: .standard)

    func record(for letter: DeadLetter) throws(Refusal) -> Record {
        let source = letter.source.topic
        guard source == topics.orders || source == topics.restocks else {
            throw Refusal(
                reason: "it came from \(source), which is not \(topics.orders) or \(topics.restocks)"
            )
        }
        guard letter.truncatedFrom == nil || value != nil else {
            throw Refusal(reason: "it was cut, and what is left is not what was sent; give its --value")
        }
        let value = self.value ?? letter.value
        let key = self.key.map { $0.isEmpty ? nil : $0 } ?? letter.key
        if let fault = fault(key: key, value: value, isOrder: source == topics.orders), !isUnchecked {
            let mend = fault == .badStore ? "--key" : "--value"
            throw Refusal(reason: "it would be put aside again, as \(fault.code); correct it with \(mend)")
        }
        return Record(
            topic: source,
            partition: owner(of: key),
            key: key,
            value: value,
            headers: letter.sendersHeaders
                + [RecordHeader(name: HeaderName.resentFrom, value: letter.position.headerText)]
        )
    }

    /// The partition of the store; where the key names none, any will do.
    private func owner(of key: [UInt8]?) -> Int32 {
        Self.withBytes(key) { bytes in
            let store = StoreID.read(key: bytes) ?? BorrowedText("main")
            return Murmur2.partition(of: store.bytes, count: partitionCount)
        }
    }

    /// Why the service would put such a record aside.
    private func fault(key: [UInt8]?, value: [UInt8]?, isOrder: Bool) -> DeadLetterReason? {
        guard Self.withBytes(key, { StoreID.read(key: $0) != nil }) else { return .badStore }
        return Self.withBytes(value) { bytes in
            if isOrder {
                if case .undecodable(let reason) = decoder.decodeOrder(bytes) { return reason }
            } else {
                if case .undecodable(let reason) = decoder.decodeRestock(bytes) { return reason }
            }
            return nil
        }
    }

    private static func withBytes<Result>(
        _ bytes: [UInt8]?,
        _ body: (UnsafeRawBufferPointer?) -> Result
    ) -> Result {
        guard let bytes else { return body(nil) }
        return bytes.withUnsafeBytes { body($0) }
    }
}
