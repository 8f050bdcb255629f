import Foundation
import Synchronization

/// The verdict on the committed records: whether the contract was kept.
///
/// An audit knows only the contract, and shares no code with the service.
package struct Audit: Sendable {
    /// The ways in which the contract is broken; empty when it was kept. The first 10,000 are listed.
    package private(set) var faults: [Fault] = []
    private var totals: [Fault.Category: Int] = [:]
    package internal(set) var counts = AuditCounts()
    /// The partitions whose beginning has expired, and from where on the audit could judge them.
    package internal(set) var starts: [AuditMoment] = []
    /// Which partition had which owners, in the order of partitions and times.
    package internal(set) var owners: [AuditOwner] = []
    /// Where operators moved positions, in the order of partitions and times.
    package internal(set) var anchors: [AuditAnchor] = []
    /// What was judged of each partition of an input, by its name.
    var judged: [String: Judged] = [:]

    struct Judged: Sendable {
        var offsets: Range<Int64>
        /// When the first of them may have been written, in milliseconds since 1970: what is older has expired.
        let since: Int64
    }

    static let mostListed = 10_000

    /// How many faults there are of a category, those that are not listed among them.
    package func count(of category: Fault.Category) -> Int { totals[category, default: 0] }

    mutating func add(_ fault: Fault) {
        totals[fault.category, default: 0] += 1
        if faults.count < Self.mostListed { faults.append(fault) }
    }

    /// Adds what was found in other partitions.
    mutating func add(_ other: Audit) {
        faults += other.faults.prefix(Self.mostListed - faults.count)
        totals.merge(other.totals, uniquingKeysWith: +)
        counts.add(other.counts)
        starts += other.starts
        owners += other.owners
        anchors += other.anchors
        judged.merge(other.judged) { $1 }
    }
}

extension Audit {
    /// Audits all records of a source.
    ///
    /// - Throws: what the source throws.
    package init(of source: some AuditSource, by rules: AuditRules) throws {
        let session = AuditSession(source, by: rules)
        for partition in 0..<session.partitionCount { try session.audit(partition) }
        self = session.finish()
    }
}

/// Audits the topics partition by partition, several at the same time if the caller likes.
///
/// ```swift
/// let session = AuditSession(source, by: rules)
/// for partition in 0..<session.partitionCount { try session.audit(partition) }
/// let audit = session.finish()
/// ```
package final class AuditSession: Sendable {
    let source: any AuditSource
    let rules: AuditRules
    let transfers = Mutex(TransferAudit())
    private let found = Mutex(Audit())

    package init(_ source: some AuditSource, by rules: AuditRules) {
        (self.source, self.rules) = (source, rules)
    }

    /// How many partitions stores live in, as the first claims say; the number of the stock topic's, if they have expired.
    package static func storePartitionCount(of source: some AuditSource) throws -> Int {
        var json = JSONReader()
        for partition in 0..<source.partitionCount(of: .results) {
            let first = source.firstOffset(of: .results, partition: partition)
            for record in try source.records(of: .results, partition: partition, from: first) {
                let count = (record.value ?? []).withUnsafeBufferPointer { value in
                    json.readObject(value) && json.isType("claim") ? json.integer("partitions") : nil
                }
                if let count { return count }
            }
        }
        return source.partitionCount(of: .stock)
    }

    /// How many partitions must be audited: as many as the topic with the most has.
    package var partitionCount: Int {
        AuditTopic.allCases.reduce(rules.partitionCount) { max($0, source.partitionCount(of: $1)) }
    }

    /// Audits one partition of all topics, once.
    ///
    /// - Throws: what the source throws.
    package func audit(_ partition: Int) throws {
        var audit = PartitionAudit(partition, self)
        let found = try audit.run()
        self.found.withLock { $0.add(found) }
    }

    /// The verdict, once all partitions are audited: it needs what several of them left.
    package func finish() -> Audit {
        var audit = found.withLock { $0 }
        transfers.withLock { $0.finish(&audit) }
        audit.starts.sort { $0.partition < $1.partition }
        audit.owners.sort { ($0.from.partition, $0.from.offset) < ($1.from.partition, $1.from.offset) }
        audit.anchors.sort { ($0.at.partition, $0.at.offset) < ($1.at.partition, $1.at.offset) }
        return audit
    }
}

/// A record of the journal.
package struct AuditMoment: Sendable, Hashable, Encodable {
    package let partition: Int
    package let offset: Int64
    /// When it was written, in milliseconds since 1970.
    package let timestamp: Int64

    private enum Member: CodingKey { case time, partition, offset }

    package func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Member.self)
        try members.encode(Date(timeIntervalSince1970: Double(timestamp) / 1000), forKey: .time)
        try members.encode(partition, forKey: .partition)
        try members.encode(offset, forKey: .offset)
    }
}

/// For how long an instance owned a partition.
package struct AuditOwner: Sendable, Hashable, Encodable {
    /// The consumer group.
    package let group: String
    package let instance: String
    /// Its first claim, or the first record that shows it as the owner.
    package let from: AuditMoment
    /// The claim of the next owner; nil if it owns the partition still.
    package internal(set) var to: AuditMoment?
}

/// A position in an input that an operator moved on purpose.
package struct AuditAnchor: Sendable, Hashable, Encodable {
    /// The note that says so.
    package let at: AuditMoment
    package let topic: AuditTopic
    /// The input's partition.
    package let partition: Int
    /// The next offset before; nil if it was not known.
    package let from: Int64?
    /// The next offset from then on.
    package let to: Int64
    /// Who moved it.
    package let by: String
    package let reason: String?
    /// What the offset was in the cluster that the topics were copied from; nil if they were not.
    package let copied: Int64?
    /// How many records it passed over, which were not handled.
    package internal(set) var skipped = 0
}

/// What the topics held.
package struct AuditCounts: Sendable, Hashable, Encodable {
    /// Records that clients wrote to orders and restocks: all but forwarded copies.
    package internal(set) var records = 0
    /// Records that had to be answered, each where its store lives.
    package internal(set) var commands = 0
    /// Answers, duplicates among them.
    package internal(set) var answers = 0
    package internal(set) var duplicates = 0
    /// Commands that were forwarded to the partition of their store.
    package internal(set) var forwarded = 0
    package internal(set) var deadLetters = 0
    /// Commands that the service has not handled yet, since they are among the latest.
    package internal(set) var open = 0
    /// Records of orders and restocks from before the journal's first position, or that an anchor passed over.
    package internal(set) var skipped = 0
    /// Records of the journal that could not be judged, since what they go with has expired.
    package internal(set) var unjudged = 0
    /// Stores that a record named.
    package internal(set) var stores = 0
    /// First answers, by what they say.
    package internal(set) var juicesMade = 0, outOfStock = 0, restocked = 0, cancelled = 0, rejected = 0

    mutating func add(_ other: AuditCounts) {
        for count: WritableKeyPath<AuditCounts, Int> in [
            \.records, \.commands, \.answers, \.duplicates, \.forwarded, \.deadLetters, \.open, \.skipped, \.unjudged, \.stores,
            \.juicesMade, \.outOfStock, \.restocked, \.cancelled, \.rejected,
        ] { self[keyPath: count] += other[keyPath: count] }
    }
}

/// One way in which the topics break the contract.
package struct Fault: Sendable, Encodable, CustomStringConvertible {
    package let category: Category
    /// The record that shows it, or that is missing.
    package let place: Place
    /// What is wrong, in English.
    package let problem: String

    package enum Category: String, Sendable, Encodable, CaseIterable {
        /// A record that must exist does not.
        case missing
        /// A record exists once too often, or a command was carried out once too often.
        case doubled
        /// A record exists, but is not as it must be.
        case wrong
    }

    init(_ category: Category, _ place: Place, _ problem: String) {
        (self.category, self.place, self.problem) = (category, place, problem)
    }

    private enum Member: CodingKey { case category, problem }

    /// Writes the members of the place beside its own.
    package func encode(to encoder: any Encoder) throws {
        try place.encode(to: encoder)
        var members = encoder.container(keyedBy: Member.self)
        try members.encode(category, forKey: .category)
        try members.encode(problem, forKey: .problem)
    }

    package var description: String { "\(category.rawValue): \(place): \(problem)" }
}
