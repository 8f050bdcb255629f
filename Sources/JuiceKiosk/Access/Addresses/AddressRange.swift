/// One IP address, or a network such as `10.0.0.0/8`.
public struct AddressRange: Sendable, Equatable {
    private let network: IPAddress
    /// In bits, as of an address of version 6.
    private let length: Int

    /// The address or network that a text is; nil for anything else, also for a network with bits that belong to its addresses.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count <= 2, let address = parts.first.flatMap({ IPAddress($0) }) else { return nil }
        let before = address.isVersion4 ? IPAddress.lengthBeforeVersion4 : 0
        if parts.count == 2 {
            guard let length = UInt8(parts[1]), before + Int(length) <= 128 else { return nil }
            self.length = before + Int(length)
        } else {
            length = 128
        }
        network = address.network(ofLength: length)
        guard network == address else { return nil }
    }

    func contains(_ address: IPAddress) -> Bool { address.network(ofLength: length) == network }
}
