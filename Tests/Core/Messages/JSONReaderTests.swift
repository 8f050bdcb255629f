import Testing

@testable import JuiceMessages

@Suite struct JSONReaderTests {
    /// Reads a document and describes it in a compact notation, or names the error.
    private func read(_ bytes: [UInt8], with reader: JSONReader) -> String {
        do throws(JSONError) {
            // Not `bytes.withUnsafeBytes`, which loses the type of the error.
            let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
            defer { copy.deallocate() }
            copy.copyBytes(from: bytes)
            return describe(try reader.read(UnsafeRawBufferPointer(copy)))
        } catch { return "\(error)" }
    }

    private func read(_ bytes: [UInt8]) -> String { read(bytes, with: JSONReader(capacity: 16)) }

    private func describe(_ value: JSONValue) -> String {
        if let object = value.object {
            return "{" + object.map { "\(String($0.key))=\(describe($0.value))" }.joined(separator: " ") + "}"
        }
        if let array = value.array { return "[" + array.map(describe).joined(separator: " ") + "]" }
        if let string = value.string { return "'" + String(string) + "'" }
        if let integer = value.integer { return "\(integer)" }
        if let boolean = value.boolean { return "\(boolean)" }
        return value.isNull ? "null" : "number"
    }

    @Test(
        arguments: [
            ("{}", "{}"), ("[]", "[]"), (" [ ] ", "[]"), ("\t{\r\n}\n", "{}"),
            (#"{"a":1,"b":[true,false,null],"a":{}}"#, "{a=1 b=[true false null] a={}}"),
            (#"[[],[[],{}],{"x":[{}]}]"#, "[[] [[] {}] {x=[{}]}]"),
            ("0", "0"), ("-0", "0"), (" 12 ", "12"), ("true", "true"), ("false", "false"), ("null", "null"),
            (#""s""#, "'s'"), (#""""#, "''"), (#"{"":""}"#, "{=''}"),
            ("9223372036854775807", "9223372036854775807"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("9223372036854775808", "number"), ("-9223372036854775809", "number"),
            ("18446744073709551616", "number"), ("123456789012345678901234567890", "number"),
            ("[1.5,1.0,1e3,1E+2,-1.5e-10,0.0]", "[number number number number number number]"),
            ("1e999999", "number"), ("[ 1.5 , 1e400 ]", "[number number]"),
            (#""\"\\\/\b\f\n\r\t""#, "'\"\\/\u{8}\u{c}\n\r\t'"),
            (#""\u0041\uac00\ud83e\udd5d""#, "'A가🥝'"), (#""\u0000""#, "'\u{0}'"),
            ("\"딸기🍓\"", "'딸기🍓'"), ("\"\u{7f}\"", "'\u{7f}'"),
            ("\u{feff}{\"a\":1}", "{a=1}"),
        ]
    )
    func jsonIsRead(text: String, expected: String) {
        #expect(read([UInt8](text)) == expected)
    }

    @Test(
        arguments: [
            "", " ", "\u{feff}", "\u{feff}\u{feff}1", "{", "}", "[", "]", "{}}", "[]]", "{}{}", "[] []",
            "1 2", "1,2",
            "1],[2", "] , [", "1]", "[1", "[[1]", "{\"a\":[1}", "{\"a\":{}", "[1}", "{\"a\":1]",
            "[,]", "[1,]", "[,1]", "[1 2]", "{,}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{\"a\" 1}", "{1:1}",
            "{a:1}", "{'a':1}", "{\"a\":1 \"b\":2}", "{\"a\"::1}", "[1]//", "[1]/**/",
            "nul", "nulx", "nullx", "truex", "tru", "True", "falsee", "fals", "NaN", "Infinity", "-", "+1",
            "01", "-01", "1.", ".5", "1.e3", "1e", "1e+", "1.5.5", "0x10", "1_000", "--1", "1-", "12a",
            "1e5x",
            "123456789012345678901234567890x", "99999999999999999999.", "[truefalse]", "[nullnull]",
            "\"", "\"a", "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u123g\"", "\"\\ud800\"", "\"\\ud800x\"",
            "\"\\udc00\"", "\"\\ud800\\ud800\"", "\"a\nb\"", "\"a\tb\"", "\"\u{0}\"", "\"\u{1f}\"", "\"a\"b",
            "a\"b\"", "\u{0}", "{}\u{0}", "{\"a\":\"\\ud800\"}", "{\"\\ud800\":1}",
        ]
    )
    func rejectsMalformedJSON(text: String) {
        #expect(read([UInt8](text)) == "notJSON")
        // A document that contains it is not JSON either.
        #expect(read([UInt8]("{\"a\":\(text)}")) == "notJSON")
    }

    @Test(
        arguments: [
            [0x22, 0x80, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
            [0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], [0x22, 0xFF, 0x22], [0xFF, 0xFE, 0x31, 0x00], [0xEF, 0xBB],
            [0x22, 0xE2, 0x82],
        ] as [[UInt8]]
    )
    func invalidUTF8IsNotJSON(bytes: [UInt8]) {
        #expect(read(bytes) == "notJSON")
    }

    @Test(arguments: ["[", "{\"a\":"])
    func nestingIsBounded(opening: String) {
        let closing = opening == "[" ? "]" : "}"
        func nested(_ depth: Int) -> [UInt8] {
            [UInt8](
                String(repeating: opening, count: depth - 1) + opening.prefix(1) + closing
                    + String(repeating: closing, count: depth - 1)
            )
        }
        #expect(read(nested(128)).count >= 256)
        #expect(read(nested(129)) == "tooDeep")
        #expect(read(nested(10_000)) == "tooDeep")
        #expect(read([UInt8](String(repeating: opening, count: 10_000))) == "tooDeep")
    }

    /// Members without spaces are read another way as long as they are short and plain.
    @Test(arguments: 0...20) func spacesMakeNoDifference(length: Int) {
        let name = String(repeating: "n", count: length)
        let texts = (0...40).map { "\"\(String(repeating: "t", count: $0))\"" }
        let numbers = (1...20).map { String(repeating: "9", count: $0) } + ["0", "01", "-1", "1.5", "2e3", "1x"]
        for value in texts + numbers + ["null", "[]", "{}", "[{\"\(name)\":1}]", #""\n""#, #""가""#, "", "\"", "x"] {
            let (dense, wide) = ("{\"\(name)\":\(value),\"b\":2}", "{ \"\(name)\" : \(value) , \"b\" : 2 }")
            #expect(read(Array(dense.utf8)) == read(Array(wide.utf8)), "\(dense)")
            for cut in 0..<dense.utf8.count { #expect(read(Array(dense.utf8.prefix(cut))) == "notJSON") }
        }
        #expect(read(Array("{\"\(name)\":1,}".utf8)) == "notJSON")
        #expect(read(Array("{\"\(name)\":1,,\"b\":2}".utf8)) == "notJSON")
    }

    @Test func aMillionValuesAreRead() throws {
        let bytes = [UInt8]("[" + String(repeating: "1,", count: 1_000_000) + "\"end\"]")
        let reader = JSONReader(capacity: 16)
        let (count, last) = try bytes.withUnsafeBytes { bytes in
            let array = try #require(try reader.read(bytes).array)
            let last = array.reduce(nil as JSONValue?) { $1 }
            return (array.reduce(0) { count, _ in count + 1 }, last?.string.map(String.init))
        }
        #expect(count == 1_000_001)
        #expect(last == "end")
    }

    @Test func everyCutOfADocumentIsFound() {
        let reader = JSONReader(capacity: 16)
        let document = [UInt8](#" {"a":[1,-2.5e3,"b\u00e9\\",{"c":null}],"딸기":true}"#)
        for length in document.indices {
            #expect(read([UInt8](document[..<length]), with: reader) == "notJSON", "cut at \(length)")
        }
        #expect(read(document, with: reader) == "{a=[1 number 'bé\\' {c=null}] 딸기=true}")
    }

    // Whatever a longer document left in the buffers must not leak into a shorter one.
    @Test func aReaderIsAsGoodAsNewAfterEveryDocument() {
        let reader = JSONReader(capacity: 16)
        let documents = [
            #"{"long":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa]]]]]"}"#, "[[[[[1]]]]]", "[", "1", "", "[[1",
        ]
        for first in documents {
            for second in documents {
                _ = read([UInt8](first), with: reader)
                #expect(read([UInt8](second), with: reader) == read([UInt8](second)))
            }
        }
    }

    @Test func membersAreLookedUpByName() throws {
        let reader = JSONReader(capacity: 16)
        let bytes = [UInt8](#"{"a":{"b":1},"b":2,"c":3,"c":4,"\u0064":5}"#)
        try bytes.withUnsafeBytes { bytes in
            let object = try #require(try reader.read(bytes).object)
            func look(_ name: StaticString) -> String {
                switch object.member(name) {
                case .absent: "absent"
                case .repeated: "repeated"
                case .value(let value): describe(value)
                }
            }
            #expect(look("a") == "{b=1}")
            #expect(look("b") == "2")
            #expect(look("c") == "repeated")
            #expect(look("d") == "5")
            #expect(look("e") == "absent")
        }
    }
}
