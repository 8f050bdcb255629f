import JuiceMaker
import JuiceMessages
import JuiceService
import Kafka

/// Decides how to resend a dead letter: the record to send, or why it is refused.
struct ResendPlan {
    /// The record to send.
    struct Record: Equatable {
        let topic: String
        let partition: Int32
        let key: [UInt8]?
        let value: [UInt8]?
        let headers: [RecordHeader]
    }

    /// Why a dead letter is not resent.
    struct Refusal: Error, Equatable { let reason: String }

    let topics: TopicNames
    /// The number of partitions of orders and restocks.
    let partitionCount: Int32
    /// Replaces the value; nil keeps it.
    var value: [UInt8]?
    /// Replaces the key; nil keeps it, an empty key removes it.
    var key: [UInt8]?
    /// Whether to send records that are not valid commands.
    var isUnchecked = false

    private let decoder = CommandDecoder(menu: .standard)

    /// The record to send for a dead letter.
    ///
    /// - Throws: ``Refusal`` if it should not be sent.
    func record(for letter: DeadLetter) throws(Refusal) -> Record {
        let source = letter.source.topic
        guard source == topics.orders || source == topics.restocks else {
            throw Refusal(reason: "it came from \(source), which is not \(topics.orders) or \(topics.restocks)")
        }
        guard letter.truncatedFrom == nil || value != nil else {
            throw Refusal(reason: "its value was truncated; give the whole value with --value")
        }
        let value = self.value ?? letter.value
        let key = self.key.map { $0.isEmpty ? nil : $0 } ?? letter.key
        if let fault = fault(key: key, value: value, isOrder: source == topics.orders), !isUnchecked {
            let mend = fault == .badStore ? "--key" : "--value"
            throw Refusal(reason: "it would become a dead letter again, as \(fault.code); correct it with \(mend)")
        }
        return Record(
            topic: source, partition: owner(of: key), key: key, value: value,
            headers: letter.sendersHeaders + [RecordHeader(name: HeaderName.resentFrom, value: letter.position.headerText)])
    }

    /// The partition that owns the store; any partition if the key is not a valid store id.
    private func owner(of key: [UInt8]?) -> Int32 {
        Self.withBytes(key) { bytes in
            let store = StoreID.read(key: bytes) ?? BorrowedText("main")
            return Murmur2.partition(of: store.bytes, count: partitionCount)
        }
    }

    /// Why the service would put the record aside; nil if it would not.
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

    private static func withBytes<Result>(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
        guard let bytes else { return body(nil) }
        return bytes.withUnsafeBytes { body($0) }
    }
}
