import JuiceMessages

/// The place of a record, or where it would be.
package struct Place: Sendable, Hashable, Comparable, Encodable, CustomStringConvertible {
    package let topic: Topic
    package let partition: Int32
    package let offset: Int64

    /// The same partition, as the journal names it.
    var input: InputPartition { InputPartition(topic: topic == .orders ? .orders : .restocks, partition: partition) }

    func at(_ offset: Int64) -> Place { Place(topic: topic, partition: partition, offset: offset) }

    package var description: String { "\(topic.name) \(partition)@\(offset)" }

    package static func < (first: Place, second: Place) -> Bool {
        (first.topic.name, first.partition, first.offset) < (second.topic.name, second.partition, second.offset)
    }
}
