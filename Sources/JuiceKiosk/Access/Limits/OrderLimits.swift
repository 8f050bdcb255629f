/// How many orders a kiosk takes a second, of which ten seconds' worth may come at once.
///
/// It bounds what strangers can push out of the service's memory of ids: by default at most 360,000 an hour, of the 1,000,000 of a
/// partition.
public struct OrderLimits: Sendable, Equatable {
    /// From all addresses together.
    public var inAll: Int
    /// From one address; of IPv6 from one network of 64 bits.
    public var perAddress: Int

    /// Limits of so many a second, each at least 1.
    public init(inAll: Int = 100, perAddress: Int = 5) {
        self.inAll = inAll
        self.perAddress = perAddress
    }
}
