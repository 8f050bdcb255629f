/// The verdict on the committed records: whether the contract was kept.
///
/// An audit knows only the contract, and shares no code with the service.
///
/// ```swift
/// let audit = Audit(of: topics, by: AuditRules(partitionCount: 8))
/// for fault in audit.faults { print(fault) }
/// ```
public struct Audit: Sendable {
    /// The ways in which the contract is broken; empty when it was kept. The first 10,000 are listed.
    public let faults: [Fault]
    /// What the topics held.
    public let counts: AuditCounts
    /// The partitions whose beginning has expired, and from where on the audit could judge them.
    public let starts: [AuditMoment]
    /// Which partition had which owners, in the order of partitions and times.
    public let owners: [AuditOwner]
    /// Where operators moved positions, in the order of partitions and times.
    public let anchors: [AuditAnchor]
    private let totals: [Fault.Category: Int]

    init(_ findings: Findings) {
        (faults, totals, counts) = (findings.list.faults, findings.list.counts, findings.counts)
        starts = findings.starts.sorted { $0.partition < $1.partition }
        owners = findings.owners.sorted { ($0.from.partition, $0.from.offset) < ($1.from.partition, $1.from.offset) }
        anchors = findings.anchors.sorted { ($0.at.partition, $0.at.offset) < ($1.at.partition, $1.at.offset) }
    }

    /// Audits all records of the five topics. They must be complete: no record expired, all commands answered, and no
    /// transaction open.
    ///
    /// - Parameters:
    ///   - topics: the records.
    ///   - rules: the service's settings.
    public init(of topics: AuditTopics, by rules: AuditRules) {
        do {
            let session = AuditSession(RecordArrays(topics: topics), by: rules)
            for partition in 0..<session.partitionCount { try session.audit(partition) }
            self = try session.finish()
        } catch {
            // Arrays can always be read.
            var findings = Findings()
            findings.list.add(.wrong, .results, 0, nil, "the records cannot be read: \(error)")
            self.init(findings)
        }
    }

    /// How many faults there are of a category, those that are not listed among them.
    public func count(of category: Fault.Category) -> Int { totals[category, default: 0] }
}

/// A record of the journal.
public struct AuditMoment: Sendable, Hashable, Encodable {
    /// The partition.
    public let partition: Int
    /// The offset.
    public let offset: Int64
    /// When it was written, in milliseconds since 1970.
    public let timestamp: Int64
}

/// For how long an instance owned a partition.
public struct AuditOwner: Sendable, Hashable {
    /// The owner's consumer group.
    public let group: String
    /// The name of its instance.
    public let instance: String
    /// Its first claim, or the first record that shows it as the owner.
    public let from: AuditMoment
    /// The claim of the next owner; nil if it owns the partition still.
    public internal(set) var to: AuditMoment?
}

/// A position in an input that an operator moved on purpose.
public struct AuditAnchor: Sendable, Hashable {
    /// The note that says so.
    public let at: AuditMoment
    /// The input.
    public let topic: AuditTopic
    /// The input's partition.
    public let partition: Int
    /// The next offset before; nil if it was not known.
    public let from: Int64?
    /// The next offset from then on.
    public let to: Int64
    /// Who moved it.
    public let by: String
    /// Why; nil if no reason was given.
    public let reason: String?
    /// How many records it passed over, which nobody has handled.
    public internal(set) var skipped = 0
}

/// What the topics held.
public struct AuditCounts: Sendable, Hashable, Encodable {
    /// Records that clients wrote to orders and restocks: all but forwarded copies.
    public var records = 0
    /// Records that had to be answered, each where its store lives.
    public var commands = 0
    /// Answers, duplicates among them.
    public var answers = 0
    /// Answers that were given again.
    public var duplicates = 0
    /// Commands that were forwarded to the partition of their store.
    public var forwarded = 0
    /// Records that became dead letters.
    public var deadLetters = 0
    /// Commands that the service has not handled yet, since they are among the latest.
    public var open = 0
    /// Records of orders and restocks from before the journal's first position, or that an anchor passed over.
    public var skipped = 0
    /// Records of the journal that could not be judged, since what they go with has expired.
    public var unjudged = 0
    /// Stores that a record named.
    public var stores = 0
    /// First answers "juice made".
    public var juicesMade = 0
    /// First answers "out of stock".
    public var outOfStock = 0
    /// First answers "restocked".
    public var restocked = 0
    /// First answers "cancelled".
    public var cancelled = 0
    /// Answers "rejected", duplicates apart.
    public var rejected = 0

    /// Nothing counted yet.
    public init() {}

    mutating func add(_ other: AuditCounts) {
        for count: WritableKeyPath<AuditCounts, Int> in [
            \.records, \.commands, \.answers, \.duplicates, \.forwarded, \.deadLetters, \.open, \.skipped, \.unjudged, \.stores,
            \.juicesMade, \.outOfStock, \.restocked, \.cancelled, \.rejected,
        ] { self[keyPath: count] += other[keyPath: count] }
    }
}

/// The service's settings that the contract depends on.
public struct AuditRules: Sendable {
    /// How many partitions stores live in. Topics may have more: commands there are forwarded, and none is answered there.
    public var partitionCount: Int
    /// For how many milliseconds a repeated id must be recognised, by the timestamps of the commands.
    public var memoryWindow: Int64
    /// For how many further ids of its partition a repeated id must be recognised.
    public var memoryCount: Int
    /// The prefix of all topic names.
    public var topicPrefix: String
    /// The menu that the service was started with.
    public var menu: AuditMenu
    /// Whether the latest commands may still have no answer, as on a cluster that is in use. They count as open.
    public var allowsOpen: Bool

    /// The rules of a service with these settings; the defaults are the service's.
    public init(
        partitionCount: Int, memoryWindow: Int64 = 3_600_000, memoryCount: Int = 1_000_000, topicPrefix: String = "juice.",
        menu: AuditMenu = .builtIn, allowsOpen: Bool = false
    ) {
        (self.partitionCount, self.memoryWindow, self.memoryCount) = (partitionCount, memoryWindow, memoryCount)
        (self.topicPrefix, self.menu, self.allowsOpen) = (topicPrefix, menu, allowsOpen)
    }
}
