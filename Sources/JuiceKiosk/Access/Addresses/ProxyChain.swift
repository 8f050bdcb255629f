/// Finds the client's address behind trusted proxies.
struct ProxyChain: Sendable {
    let trusted: [AddressRange]

    /// The client's address: the nearest one that is no trusted proxy. What an untrusted address claims may be forged.
    ///
    /// - Parameters:
    ///   - peer: the remote address of the connection.
    ///   - forwardedFor: the values of `X-Forwarded-For`. Each proxy appends the address it was asked from.
    func client(peer: IPAddress?, forwardedFor: [String]) -> IPAddress? {
        guard var client = peer else { return nil }
        for claim in forwardedFor.flatMap({ $0.split(separator: ",") }).reversed() {
            guard trusted.contains(where: { $0.contains(client) }), let next = Self.address(claim) else { break }
            client = next
        }
        return client
    }

    /// The address in one entry of the header; some proxies append the port.
    private static func address(_ claim: Substring) -> IPAddress? {
        let text = claim.filter { $0 != " " && $0 != "\t" }
        if let address = IPAddress(text) { return address }
        if text.hasPrefix("[") { return IPAddress(text.dropFirst().prefix { $0 != "]" }) }
        return IPAddress(text.prefix { $0 != ":" })
    }
}
