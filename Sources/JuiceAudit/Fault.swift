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
        let place = offset.map { "\(topic.rawValue) \(partition)@\($0)" } ?? "\(topic.rawValue) \(partition)"
        return "\(category.rawValue): \(place): \(problem)"
    }
}

/// Collects the faults of an audit. All are counted, and the first ones are listed.
struct FaultList {
    private(set) var faults: [Fault] = []
    private(set) var counts: [Fault.Category: Int] = [:]

    static let longest = 10_000

    mutating func add(
        _ category: Fault.Category,
        _ topic: AuditTopic,
        _ partition: Int,
        _ offset: Int64?,
        _ problem: String
    ) {
        counts[category, default: 0] += 1
        guard faults.count < Self.longest else { return }
        faults.append(
            Fault(category: category, topic: topic, partition: partition, offset: offset, problem: problem)
        )
    }

    mutating func add(_ other: FaultList) {
        faults += other.faults.prefix(Self.longest - faults.count)
        counts.merge(other.counts, uniquingKeysWith: +)
    }
}

/// Text from records as faults show it: quoted, and cut after 64 bytes.
func quoted(_ bytes: some Collection<UInt8>) -> String {
    let longest = 64
    let text = String(decoding: bytes.prefix(longest), as: UTF8.self)
    return "\"\(text)\(bytes.count > longest ? "…" : "")\""
}
