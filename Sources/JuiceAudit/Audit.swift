import Foundation
import JuiceDomain
import JuiceMessages
import Synchronization

/// The service's settings that the contract depends on.
package struct AuditRules: Sendable {
    /// How many partitions hold stores. Topics may have more: commands there are forwarded, and none is answered there.
    let partitionCount: Int32
    /// Within which a repeated id must be recognized, by the timestamps of the commands.
    package var window: DuplicateWindow
    let topicPrefix: String
    /// The menus that the service has had, at least one. Position notes name them by digest.
    var menus: [Menu]
    /// The only stores that the service has known for as long as the topics show. Nil if these are unknown or have changed: then a
    /// store is unknown if an answer says so.
    var stores: Set<[UInt8]>?
    /// Whether the latest commands may still have no answer, as on a cluster that is in use. They count as open.
    var allowsOpen: Bool
    /// Whether a forwarded command has the time of its original. Topics may set times themselves, or refuse old ones.
    package var keepsTimes: Bool
    /// Whether brokers have judged the senders' clocks: then a command's own timestamp counts, whatever the journal says.
    var limitsTimes: Bool
    /// Where to go on in a copy from another cluster. Earlier journal records have the offsets of that cluster.
    var copies: [AuditAnchor] = []

    /// The defaults are the service's.
    package init(
        partitionCount: Int32, window: DuplicateWindow = .standard, topicPrefix: String = TopicNames.standardPrefix,
        menus: [Menu] = [.standard], stores: Set<[UInt8]>? = nil, allowsOpen: Bool = false, keepsTimes: Bool = true,
        limitsTimes: Bool = false
    ) {
        (self.partitionCount, self.window, self.topicPrefix) = (partitionCount, window, topicPrefix)
        (self.menus, self.stores) = (menus, stores)
        (self.allowsOpen, self.keepsTimes, self.limitsTimes) = (allowsOpen, keepsTimes, limitsTimes)
    }
}

/// The verdict on the committed records: whether the contract was kept.
///
/// An audit merges the journal with the inputs, hands each command to the service's own decoder, juice maker and encoder, and
/// compares the results with what was answered. It shares no state and no protocol with the service: it has no engine.
package struct Audit: Sendable {
    /// The ways in which the contract is broken; empty if it was kept. The first 10,000 are listed.
    package private(set) var faults: [Fault] = []
    private var totals: [Fault.Category: Int] = [:]
    package internal(set) var counts = AuditCounts()
    package internal(set) var firstAnswers = AnswerCounts()
    /// The partitions whose beginning could not be checked, and where their check begins.
    package internal(set) var starts: [AuditMoment] = []
    /// The owners of each partition, in the order of partitions and times.
    package internal(set) var owners: [AuditOwner] = []
    /// Where operators moved positions, in the order of partitions and times.
    package internal(set) var anchors: [AuditAnchor] = []
    /// For each input partition: the offset from which all records were read (`Int64.min` if all that ever were, nil if unknown),
    /// and the offsets that were handled according to what is left of the journal.
    var checked: [InputPartition: (since: Int64?, offsets: Range<Int64>)] = [:]

    static let mostListed = 10_000

    init() {}

    /// Audits all records of a source. A source that was copied from another cluster is read twice: only its anchors show where the
    /// journal begins to have the copy's offsets, and earlier records count as expired.
    ///
    /// - Parameter lanes: how many partitions to check at the same time. Partition p is in lane p mod `lanes`.
    /// - Throws: what the source throws.
    package init(of source: some AuditSource, by rules: AuditRules, lanes: Int = 1) throws {
        self = try Self.check(source, rules, lanes)
        var copied = rules
        // An anchor that moves nothing was set twice, unless both of a partition's inputs have the same offsets in both clusters.
        let copies = anchors.filter { $0.copied != nil }
        copied.copies = copies.filter { copy in
            copy.isOfCopy || !copies.contains { $0.isOfCopy && $0.at.partition == copy.at.partition }
        }
        if !copied.copies.isEmpty { self = try Self.check(source, copied, lanes) }
    }

    private static func check(_ source: some AuditSource, _ rules: AuditRules, _ lanes: Int) throws -> Audit {
        let count = Topic.allCases.reduce(rules.partitionCount) { max($0, source.partitionCount(of: $1)) }
        let transfers = Transfers()
        let found = Mutex((audit: Audit(), failure: (any Error)?.none))
        DispatchQueue.concurrentPerform(iterations: lanes) { lane in
            for partition in stride(from: Int32(lane), to: count, by: lanes) where found.withLock({ $0.failure == nil }) {
                do {
                    var audit = PartitionAudit(partition, of: source, by: rules, transfers)
                    let verdict = try audit.run()
                    found.withLock { $0.audit.add(verdict) }
                } catch {
                    found.withLock { $0.failure = $0.failure ?? error }
                }
            }
        }
        var (audit, failure) = found.withLock { $0 }
        if let failure { throw failure }
        audit.anchors += rules.copies.filter { copy in !audit.anchors.contains { $0.at == copy.at } }
        transfers.audit.withLock { $0.finish(&audit) }
        audit.starts.sort { $0.partition < $1.partition }
        audit.owners.sort { ($0.from.partition, $0.from.offset) < ($1.from.partition, $1.from.offset) }
        audit.anchors.sort { ($0.at.partition, $0.at.offset) < ($1.at.partition, $1.at.offset) }
        return audit
    }

    /// How many faults there are of a category, including those that are not listed.
    package func count(of category: Fault.Category) -> Int { totals[category, default: 0] }

    mutating func add(_ fault: Fault) {
        totals[fault.category, default: 0] += 1
        if faults.count < Self.mostListed { faults.append(fault) }
    }

    mutating func add(_ other: Audit) {
        faults += other.faults.prefix(Self.mostListed - faults.count)
        totals.merge(other.totals, uniquingKeysWith: +)
        counts.add(other.counts)
        firstAnswers += other.firstAnswers
        starts += other.starts
        owners += other.owners
        anchors += other.anchors
        checked.merge(other.checked) { $1 }
    }
}

package struct AuditMoment: Sendable, Hashable, Encodable {
    package let partition: Int32
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

/// How long an instance owned a partition.
package struct AuditOwner: Sendable, Hashable, Encodable {
    package let group: String
    package let instance: String
    /// Its first claim, or the first record that shows it as the owner.
    package let from: AuditMoment
    /// The claim of the next owner; nil if it still owns the partition.
    package internal(set) var to: AuditMoment?
}

/// A position in an input that an operator moved on purpose.
package struct AuditAnchor: Sendable, Hashable, Encodable {
    /// The note that says so.
    package let at: AuditMoment
    package let topic: String
    package let partition: Int32
    /// The next offset before; nil if it was not known.
    package let from: Int64?
    /// The next offset from then on.
    package let to: Int64
    package let by: String
    package let reason: String?
    /// What the offset was in the cluster that the topics were copied from; nil if they were not.
    package let copied: Int64?
    /// How many unhandled records it skipped.
    package internal(set) var skipped = 0

    /// Whether earlier records have the offsets of another cluster. If an anchor of a copy is set twice, the second moves nothing.
    var isOfCopy: Bool { copied.map { $0 != to } ?? false }

    /// Whether the anchor moved the position in the input of a place.
    func moved(_ place: Place) -> Bool { topic == place.topic.name && partition == place.partition }

    /// Whether the record at a place is read after the anchor, again or for the first time.
    func reaches(_ place: Place) -> Bool { moved(place) && to <= place.offset }
}

package struct AuditCounts: Sendable, Hashable, Encodable {
    /// Records that had to be answered, each where its store lives.
    package internal(set) var commands = 0
    package internal(set) var answers = 0
    package internal(set) var duplicates = 0
    /// Commands that were forwarded to the partition of their store.
    package internal(set) var forwarded = 0
    package internal(set) var deadLetters = 0
    /// Commands that the service has not handled yet, since they are among the latest.
    package internal(set) var open = 0
    /// Records of orders and restocks from before the journal's first position, or that an anchor passed over.
    package internal(set) var skipped = 0
    /// Records of the journal that could not be checked: what they depend on has expired, or their menu is not known.
    package internal(set) var unjudged = 0
    package internal(set) var stores = 0

    mutating func add(_ other: AuditCounts) {
        for count: WritableKeyPath<AuditCounts, Int> in [
            \.commands, \.answers, \.duplicates, \.forwarded, \.deadLetters, \.open, \.skipped, \.unjudged, \.stores,
        ] { self[keyPath: count] += other[keyPath: count] }
    }
}
