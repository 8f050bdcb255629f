import Foundation
import JuiceMaker
import Testing

@testable import JuiceKiosk

struct StaffTokenTests {
    private let text = "0123456789abcdef"

    @Test(arguments: [
        "", "short", "0123456789abcde", "0123456789abcde f", "0123456789abcdé1",
        String(repeating: "x", count: 257),
    ])
    func whatIsNoneIsRefused(text: String) {
        #expect(StaffToken(text) == nil)
    }

    @Test(arguments: [
        ("Bearer 0123456789abcdef", true), ("bearer 0123456789abcdef", true), ("Bearer 0123456789abcdeF", false),
        ("Bearer 0123456789abcde", false), ("Bearer 0123456789abcdef0", false), ("Bearer ", false),
        ("Bearer 0123456789abcdef0123456789abcdef", false), ("0123456789abcdef", false), ("Basic 0123456789abcdef", false),
        ("Bearer  0123456789abcdef", false), (nil, false),
    ])
    func onlyTheTokenMatches(header: String?, matches: Bool) throws {
        let token = try #require(StaffToken(text))
        #expect(token.matches(authorization: header) == matches)
    }

    @Test func isNotPrinted() throws {
        let token = try #require(StaffToken(text))
        #expect("\(token)" == "********")
    }
}

struct SiteCheckTests {
    private let check = SiteCheck(hostNames: ["Kiosk.example"])

    @Test(arguments: [
        ("127.0.0.1:8081", true), ("localhost:8081", true), ("LOCALHOST", true), ("[::1]:8081", true),
        ("192.168.0.7", true), ("kiosk.example", true), ("KIOSK.example:443", true), ("evil.example", false),
        ("127.0.0.1.evil.example", false), ("127.0.0.256", false), ("", false), (":8081", false),
        (nil, false),
    ])
    func knowsItsHosts(host: String?, isOwn: Bool) {
        #expect(check.isOwn(host: host) == isOwn)
    }

    @Test(
        arguments: [
            ("a:1", "http://a:1", nil, true), ("a:1", "https://A:1", "same-origin", true), ("a:1", "http://a:2", nil, false),
            ("a:1", "http://a:1", "same-site", false), ("a:1", "http://a:1", "cross-site", false),
            ("a:1", "http://a:1", "none", false), ("a:1", nil, nil, false),
            ("a:1", nil, "same-origin", false),
            ("a:1", "null", nil, false), ("a:1", "http://b:1", "same-origin", false),
            ("a:1", "ftp://a:1", nil, false),
            (nil, "http://a:1", nil, false), ("a:1", "http://user@a:1", nil, false),
        ] as [(String?, String?, String?, Bool)]
    )
    func knowsItsOwnPages(host: String?, origin: String?, site: String?, isSame: Bool) {
        #expect(check.isSameOrigin(host: host, origin: origin, fetchSite: site) == isSame)
    }
}

struct CommandBodyTests {
    private static let long = String(repeating: "가", count: 43)
    private static let twentyOne = Array(repeating: #"{"juice":"kiwi"}"#, count: 21).joined(separator: ",")

    @Test func anOrderBecomesACommand() throws {
        let body = #"{"orderId":"<b>\"1\"","store":"강남","juice":"kiwi","quantity":2,"more":1}"#
        let command = try CommandBody.order(Data(body.utf8), menu: .standard)
        #expect(command.kind == .order)
        #expect(command.id == #"kiosk-<b>"1""#)
        #expect(command.store == "강남")
        #expect(String(decoding: command.value, as: UTF8.self) == #"{"orderId":"kiosk-<b>\"1\"","juice":"kiwi","quantity":2}"#)
    }

    @Test func aBasketBecomesACommand() throws {
        let items = #"{"juice":"kiwi","quantity":2},{"juice":"strawberryBanana"}"#
        let command = try CommandBody.order(Data(#"{"orderId":"1","store":"s","items":[\#(items)]}"#.utf8), menu: .standard)
        #expect(command.kind == .order)
        #expect(
            String(decoding: command.value, as: UTF8.self) == #"{"orderId":"kiosk-1","items":[{"juice":"kiwi","quantity":2},"#
                + #"{"juice":"strawberryBanana","quantity":1}]}"#)
    }

    @Test func aBasketOfOneItemIsAnOrderOfASingleJuice() throws {
        let body = #"{"orderId":"1","store":"s","items":[{"juice":"kiwi","quantity":100}]}"#
        let command = try CommandBody.order(Data(body.utf8), menu: .standard)
        #expect(command == .order(id: "kiosk-1", store: "s", juice: "kiwi", quantity: 100))
    }

    @Test func aCancelHasItsOrdersID() throws {
        let command = try CommandBody.cancel(Data(#"{"orderId":"1","store":"강남"}"#.utf8))
        #expect(command == .cancel(id: "kiosk-1", store: "강남"))
    }

    @Test(arguments: [
        "", "{}", #"{"orderId":"","store":"s"}"#, #"{"orderId":"1"}"#, #"{"orderId":"1","store":""}"#,
        #"{"orderId":"\#(String(repeating: "x", count: 123))","store":"s"}"#, #"{"orderId":1,"store":"s"}"#,
    ])
    func badCancelsAreRefused(body: String) {
        let refusal = #expect(throws: Refusal.self) { try CommandBody.cancel(Data(body.utf8)) }
        #expect(refusal?.status == .badRequest)
    }

    @Test(arguments: ["pos-7-000124", "kiosk-1", "\u{301}", String(repeating: "x", count: 122)])
    func noIDIsATills(part: String) throws {
        let body = #"{"orderId":"\#(part)","store":"s","juice":"kiwi"}"#
        let command = try CommandBody.order(Data(body.utf8), menu: .standard)
        #expect(Array(command.id.utf8) == Array("kiosk-\(part)".utf8))
        #expect(command.id.utf8.count <= 128)
        #expect(Array(KioskID.part(command.id).utf8) == Array(part.utf8))
    }

    @Test func aRestockNamesItsFruitsInTheMenusOrder() throws {
        let body = #"{"restockId":"r","store":"s","add":{"kiwi":-2,"strawberry":16}}"#
        let command = try CommandBody.restock(Data(body.utf8), menu: .standard)
        #expect(String(decoding: command.value, as: UTF8.self) == #"{"restockId":"kiosk-r","add":{"strawberry":16,"kiwi":-2}}"#)
    }

    @Test(arguments: [
        "", "[]", "{", #"{"orderId":"","store":"s","juice":"kiwi"}"#,
        #"{"orderId":"o","store":"","juice":"kiwi"}"#,
        #"{"orderId":"o","store":"\#(long)","juice":"kiwi"}"#,
        #"{"orderId":"\#(String(repeating: "x", count: 123))","store":"s","juice":"kiwi"}"#,
        #"{"orderId":"o","store":"s","juice":"durian"}"#, #"{"orderId":"o","store":"s"}"#,
        #"{"orderId":"o","store":"s","juice":"kiwi","quantity":0}"#,
        #"{"orderId":"o","store":"s","juice":"kiwi","quantity":101}"#,
        #"{"orderId":"o","store":"s","juice":"kiwi","quantity":1.5}"#,
        #"{"orderId":1,"store":"s","juice":"kiwi"}"#, #"{"orderId":"o","store":"s","items":[]}"#,
        #"{"orderId":"o","store":"s","items":[{"juice":"durian"}]}"#,
        #"{"orderId":"o","store":"s","items":[{"juice":"kiwi"},{"juice":"kiwi","quantity":0}]}"#,
        #"{"orderId":"o","store":"s","items":[{"juice":"kiwi"}],"juice":"kiwi"}"#,
        #"{"orderId":"o","store":"s","items":[{"juice":"kiwi"}],"quantity":1}"#,
        #"{"orderId":"o","store":"s","items":[\#(twentyOne)]}"#, #"{"orderId":"o","store":"s","items":{}}"#,
    ])
    func badOrdersAreRefused(body: String) {
        let refusal = #expect(throws: Refusal.self) {
            try CommandBody.order(Data(body.utf8), menu: .standard)
        }
        #expect(refusal?.status == .badRequest)
    }

    @Test(arguments: [
        #"{"restockId":"r","store":"s"}"#, #"{"restockId":"r","store":"s","add":{}}"#,
        #"{"restockId":"r","store":"s","add":{"kiwi":1},"set":{"kiwi":1}}"#,
        #"{"restockId":"r","store":"s","add":{"durian":1}}"#,
        #"{"restockId":"r","store":"s","add":{"kiwi":1000000001}}"#,
        #"{"restockId":"r","store":"s","add":{"kiwi":-9223372036854775808}}"#,
        #"{"restockId":"r","store":"s","set":{"kiwi":"1"}}"#,
    ])
    func badRestocksAreRefused(body: String) {
        let refusal = #expect(throws: Refusal.self) {
            try CommandBody.restock(Data(body.utf8), menu: .standard)
        }
        #expect(refusal?.status == .badRequest)
    }
}
