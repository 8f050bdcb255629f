/// What the commands of one partition have made of it: its stores, its latest answers, and how far they are applied.
///
/// A value in one piece, so that a run of commands gets hold of it once.
struct AppliedState {
    var stores: StoreTable
    var duplicates: DuplicateMemory
    /// The next record of each topic.
    var offsets: InputOffsets

    /// Brings what a command is soon going to need into the processor's caches.
    func prefetch(_ command: ReceivedCommand) {
        duplicates.prefetch(command.fingerprint)
        stores.prefetch(command.storeKey)
    }

    /// Notes that everything below `next` is applied.
    ///
    /// - Returns: false when it was applied before, which a record read again is.
    mutating func advance(_ topic: InputTopic, to next: Offset) -> Bool {
        guard let applied = offsets[topic], next > applied else { return false }
        offsets[topic] = next
        return true
    }
}

/// An offset of each input topic, where there is one.
struct InputOffsets: Equatable {
    private var orders: Offset?
    private var restocks: Offset?

    init(orders: Offset?, restocks: Offset?) {
        self.orders = orders
        self.restocks = restocks
    }

    subscript(topic: InputTopic) -> Offset? {
        get { topic == .orders ? orders : restocks }
        set { if topic == .orders { orders = newValue } else { restocks = newValue } }
    }
}
