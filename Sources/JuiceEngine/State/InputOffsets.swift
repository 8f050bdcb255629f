/// An offset of each input topic, where there is one.
struct InputOffsets: Equatable {
    private var orders: Offset?
    private var restocks: Offset?

    init(orders: Offset?, restocks: Offset?) {
        self.orders = orders
        self.restocks = restocks
    }

    subscript(topic: InputTopic) -> Offset? {
        get {
            switch topic {
            case .orders: orders
            case .restocks: restocks
            }
        }
        set {
            switch topic {
            case .orders: orders = newValue
            case .restocks: restocks = newValue
            }
        }
    }
}
