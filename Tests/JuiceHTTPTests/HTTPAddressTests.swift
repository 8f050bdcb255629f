import Testing

@testable import JuiceHTTP

@Suite struct HTTPAddressTests {
    @Test(arguments: [
        ("127.0.0.1:8080", "127.0.0.1", 8080), ("localhost:0", "localhost", 0), ("[::1]:80", "::1", 80),
        ("0.0.0.0:65535", "0.0.0.0", 65535),
    ])
    func isReadAndWritten(text: String, host: String, port: Int) {
        let address = HTTPAddress(text)
        #expect(address == HTTPAddress(host: host, port: port))
        #expect(address?.description == text)
    }

    @Test(arguments: [
        "", "8080", ":8080", "localhost", "localhost:", "::1:80", "a b:80", "a:65536", "a:-1", "a:x",
    ])
    func whatIsNoneIsRefused(text: String) {
        #expect(HTTPAddress(text) == nil)
    }
}
