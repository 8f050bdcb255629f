/// The contract's fixed words and numbers, written down a second time on purpose: a slip in the service must not
/// be a slip in its audit.
enum Contract {
    static let levels = 0...1_000_000_000
    static let quantities = 1...100
    /// How many items a basket has, before a juice that is given twice is added up.
    static let basketSizes = 1...20

    static let mainStore = Array("main".utf8)
    static let longestName = 128
    static let longestValue = 64 * 1024
    static let deepestNesting = 128
    static let longestTraceHeader = 8 * 1024
    static let mostTraceHeaders = 8
    static let mostTraceBytes = 16 * 1024
    /// How many bytes of key and of value a truncated dead letter keeps.
    static let truncatedHalf = 128 * 1024

    /// The oldest valid age of a timestamp, in milliseconds.
    static let oldestTimestamp: Int64 = 604_800_000
    /// How long after the window a repeat sent within it may arrive, in milliseconds, unless the window is shorter.
    static let longestDelay: Int64 = 300_000

    static let forwardedFrom = "juice.forwarded.from"
    static let truncatedFrom = "juice.truncated.from"
    static let traceHeaders = ["traceparent", "tracestate"]
    static let resentLetter = "juice.resent.letter"
    static let errorCode = "juice.error.code"
    static let errorMessage = "juice.error.message"
    static let sourceTopic = "juice.source.topic"
    static let sourcePartition = "juice.source.partition"
    static let sourceOffset = "juice.source.offset"
}

/// The kinds of commands.
enum CommandKind: Int {
    case order
    /// Takes an order back, under the order's id.
    case cancel
    case restock
}

extension AuditTopic {
    /// The topics of the commands.
    static let inputs: [AuditTopic] = [.orders, .restocks]

    /// The member that holds a command's id.
    var idField: StaticString { self == .restocks ? "restockId" : "orderId" }
}

/// Why a record cannot be answered.
enum DeadLetterCode: String {
    case emptyValue, tooLarge, notJSON, tooDeep, missingID, badID, badStore, misplaced
    /// The broker refused the answer. The topics do not show that, so any command may have this code.
    case unanswerable
}

/// Why a command was rejected.
enum RejectionReason: String {
    case unknownJuice, unknownFruit, badQuantity, badAmount
    case wouldGoNegative, wouldOverflow, emptyRestock, badCommand
    /// The order was cancelled, before or after it came.
    case cancelled
}

/// The place of a record in an input.
struct Place: Hashable {
    let topic: AuditTopic
    let partition: Int
    let offset: Int64

    var description: String { "\(topic.rawValue) \(partition)@\(offset)" }

    /// Stands for the partition.
    var ofPartition: Place { Place(topic: topic, partition: partition, offset: 0) }

    /// The partition as position notes have it.
    var name: String { "\(topic.rawValue)/\(partition)" }

    /// The place as the header of a forwarded record has it, and its answer.
    var header: String { "\(partition)/\(offset)" }

    /// The place that a record was forwarded from, if this is what the header says: `3/42` is partition 3, offset 42. A client may
    /// write such a header itself, with any value.
    init?(_ header: [UInt8], in topic: AuditTopic) {
        let parts = header.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard parts.count == 2, let partition = JSONReader.integer(parts[0]), let offset = JSONReader.integer(parts[1]),
            0...Int(Int32.max) ~= partition, offset >= 0
        else { return nil }
        self.init(topic: topic, partition: partition, offset: Int64(offset))
        // No leading zeros.
        if !self.header.utf8.elementsEqual(header) { return nil }
    }

    init(topic: AuditTopic, partition: Int, offset: Int64) {
        (self.topic, self.partition, self.offset) = (topic, partition, offset)
    }
}

extension Place: Comparable {
    static func < (first: Place, second: Place) -> Bool {
        (first.topic.rawValue, first.partition, first.offset) < (second.topic.rawValue, second.partition, second.offset)
    }
}
