/// Finds out who asks behind proxies that can be trusted to say it.
struct ProxyChain: Sendable {
    let trusted: [AddressRange]

    /// The address of who asks: the nearest that is no trusted proxy. What that one claims of others may be made up.
    ///
    /// - Parameters:
    ///   - peer: the other end of the connection.
    ///   - forwardedFor: the values of `X-Forwarded-For`, to each of which a proxy adds who asked it.
    func client(peer: IPAddress?, forwardedFor: [String]) -> IPAddress? {
        guard var client = peer else { return nil }
        for claim in forwardedFor.flatMap({ $0.split(separator: ",") }).reversed() {
            guard trusted.contains(where: { $0.contains(client) }), let next = Self.address(claim) else {
                break
            }
            client = next
        }
        return client
    }

    /// The address in a claim; some proxies add the port.
    private static func address(_ claim: Substring) -> IPAddress? {
        let text = claim.filter { $0 != " " && $0 != "\t" }
        if let address = IPAddress(text) { return address }
        if text.hasPrefix("[") { return IPAddress(text.dropFirst().prefix { $0 != "]" }) }
        return IPAddress(text.prefix { $0 != ":" })
    }
}
