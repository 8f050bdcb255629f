import JuiceMessages

/// The next offset to read of each input partition that belongs to one partition that holds stores.
typealias InputPositions = ByInput<Offset>

/// A value for each input partition of one partition that holds stores. Those with its own number need no allocation.
struct ByInput<Value: Equatable>: Equatable {
    let storePartition: Int32
    private var orders: Value?
    private var restocks: Value?
    /// The values of partitions that were added to the inputs later.
    private(set) var added: [InputPartition: Value] = [:]

    init(storePartition: Int32) { self.storePartition = storePartition }

    subscript(topic: InputTopic, partition: Int32) -> Value? {
        get {
            guard partition == storePartition else { return added[InputPartition(topic: topic, partition: partition)] }
            return topic == .orders ? orders : restocks
        }
        set {
            if partition != storePartition {
                added[InputPartition(topic: topic, partition: partition)] = newValue
            } else if topic == .orders {
                orders = newValue
            } else {
                restocks = newValue
            }
        }
    }

    subscript(input: InputPartition) -> Value? {
        get { self[input.topic, input.partition] }
        set { self[input.topic, input.partition] = newValue }
    }

    /// The values of the input partitions of that number.
    var ofStorePartition: [InputTopic: Value] {
        var values: [InputTopic: Value] = [:]
        (values[.orders], values[.restocks]) = (orders, restocks)
        return values
    }

    var byPartition: [InputPartition: Value] {
        ofStorePartition.reduce(into: added) { $0[InputPartition(topic: $1.key, partition: storePartition)] = $1.value }
    }
}

extension InputPositions {
    var all: [InputPosition] { byPartition.map { InputPosition($0, $1) }.sorted { $0.input < $1.input } }
}
