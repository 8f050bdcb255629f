/// One way in which the topics break the contract.
public struct Fault: Sendable, Hashable, CustomStringConvertible {
    /// What kind of promise is broken.
    public let category: Category
    /// The topic of the record that shows it.
    public let topic: AuditTopic
    /// Its partition.
    public let partition: Int
    /// Its offset, `nil` when it is a record that is not there.
    public let offset: Int64?
    /// What is wrong, in English.
    public let problem: String

    /// The kinds of broken promises, as the verdict counts them.
    public enum Category: String, Sendable, Hashable, CaseIterable {
        /// Something that must be there is not.
        case missing
        /// Something is there once too often, or was done once too often.
        case doubled
        /// Something is there, but not as it must be.
        case wrong
    }

    /// The category, the place and the problem.
    public var description: String {
        let place = offset.map { "\(topic.rawValue) \(partition)@\($0)" } ?? "\(topic.rawValue) \(partition)"
        return "\(category.rawValue): \(place): \(problem)"
    }
}

/// Where faults are collected while one partition of one topic is looked at.
struct FaultList {
    private(set) var faults: [Fault] = []

    mutating func add(
        _ category: Fault.Category,
        _ topic: AuditTopic,
        _ partition: Int,
        _ offset: Int64?,
        _ problem: String
    ) {
        faults.append(
            Fault(category: category, topic: topic, partition: partition, offset: offset, problem: problem)
        )
    }
}

/// Text from records as faults show it: in quotes, and not too long.
func quoted(_ bytes: some Collection<UInt8>) -> String {
    let longest = 64
    let text = String(decoding: bytes.prefix(longest), as: UTF8.self)
    return "\"\(text)\(bytes.count > longest ? "…" : "")\""
}
