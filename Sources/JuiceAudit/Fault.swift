/// One way in which the topics break the contract.
public struct Fault: Sendable, Hashable, CustomStringConvertible {
    /// In which way the contract is broken.
    public let category: Category
    /// The topic of the record that shows it.
    public let topic: AuditTopic
    /// Its partition.
    public let partition: Int
    /// Its offset; nil if the record is missing.
    public let offset: Int64?
    /// What is wrong, in English.
    public let problem: String

    /// The ways to break the contract, as the verdict counts them.
    public enum Category: String, Sendable, Hashable, CaseIterable {
        /// A record that must exist does not.
        case missing
        /// A record exists once too often, or a command was carried out once too often.
        case doubled
        /// A record exists, but is not as it must be.
        case wrong
    }

    /// The category, the place and the problem.
    public var description: String {
        "\(category.rawValue): \(topic.rawValue) \(partition)\(offset.map { "@\($0)" } ?? ""): \(problem)"
    }
}

extension Fault {
    init(_ category: Category, _ place: Place, _ problem: String) {
        self.init(category: category, topic: place.topic, partition: place.partition, offset: place.offset, problem: problem)
    }
}

/// Collects the faults of an audit. All are counted, and the first ones are listed.
struct FaultList: Sendable {
    private(set) var faults: [Fault] = []
    private(set) var counts: [Fault.Category: Int] = [:]

    static let longest = 10_000

    mutating func add(_ category: Fault.Category, _ topic: AuditTopic, _ partition: Int, _ offset: Int64?, _ problem: String) {
        add(Fault(category: category, topic: topic, partition: partition, offset: offset, problem: problem))
    }

    mutating func add(_ fault: Fault) {
        counts[fault.category, default: 0] += 1
        if faults.count < Self.longest { faults.append(fault) }
    }

    mutating func add(_ other: FaultList) {
        faults += other.faults.prefix(Self.longest - faults.count)
        counts.merge(other.counts, uniquingKeysWith: +)
    }
}
