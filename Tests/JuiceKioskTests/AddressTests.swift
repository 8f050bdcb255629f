import Testing

@testable import JuiceKiosk

struct IPAddressTests {
    /// A text, its canonical form, and the address that identifies the client.
    @Test(arguments: [
        ("192.0.2.1", "192.0.2.1", "192.0.2.1"), ("::ffff:192.0.2.1", "192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
        ("2001:DB8::1", "2001:db8::1", "2001:db8::"), ("::1", "::1", "::"),
    ])
    func knowsAddresses(text: String, description: String, client: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.description == description)
        #expect(address.client.description == client)
    }

    @Test(arguments: ["", "localhost", "1.2.3", "1.2.3.256", "1.2.3.4:80", "[::1]", ":::", "unknown"])
    func refusesOtherTexts(text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test(arguments: [
        ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false),
        ("10.0.0.1", "10.0.0.1", true), ("10.0.0.1", "10.0.0.2", false), ("0.0.0.0/0", "1.2.3.4", true),
        ("0.0.0.0/0", "2001:db8::1", false), ("2001:db8::/33", "2001:db8:7fff::1", true),
        ("2001:db8::/33", "2001:db8:8000::1", false), ("::/0", "1.2.3.4", true), ("127.0.0.1", "::1", false),
    ])
    func aRangeHasItsAddresses(range: String, address: String, isIn: Bool) throws {
        let (range, address) = (try #require(AddressRange(range)), try #require(IPAddress(address)))
        #expect(range.contains(address) == isIn)
    }

    @Test(arguments: [
        "", "/8", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.1/8", "::/129", "10.0.0.0/8/8", "proxy",
    ])
    func refusesOtherRanges(text: String) {
        #expect(AddressRange(text) == nil)
    }
}

struct ProxyChainTests {
    /// The remote address, the forwarded addresses, and the client.
    @Test(
        arguments: [
            ("192.0.2.1", [], "192.0.2.1"), ("192.0.2.1", ["203.0.113.7"], "192.0.2.1"),
            ("10.0.0.1", ["203.0.113.7"], "203.0.113.7"), ("10.0.0.1", ["198.51.100.1, 203.0.113.7"], "203.0.113.7"),
            ("10.0.0.1", ["198.51.100.1, 203.0.113.7,10.0.0.2"], "203.0.113.7"),
            ("10.0.0.1", ["203.0.113.7", "10.0.0.2"], "203.0.113.7"), ("10.0.0.1", ["10.0.0.3"], "10.0.0.3"),
            ("10.0.0.1", ["unknown"], "10.0.0.1"), ("10.0.0.1", ["203.0.113.7, unknown"], "10.0.0.1"),
            ("10.0.0.1", ["203.0.113.7:4711"], "203.0.113.7"),
            ("10.0.0.1", ["[2001:db8::1]:80"], "2001:db8::1"), ("::ffff:10.0.0.1", ["::1"], "::1"),
            ("", ["::1"], nil),
        ] as [(String, [String], String?)]
    )
    func theNearestThatIsNoProxyAsks(peer: String, forwarded: [String], client: String?) throws {
        let chain = ProxyChain(trusted: [try #require(AddressRange("10.0.0.0/8"))])
        let found = chain.client(peer: IPAddress(peer), forwardedFor: forwarded)
        #expect(found?.description == client)
    }
}
