import Foundation
import JuiceMessages
import Kafka
import Testing

@testable import JuiceKiosk

struct MenuAnswerTests {
    private struct Answer: Decodable, Equatable {
        struct Name: Decodable, Equatable {
            let en: String
            let ko: String
        }

        struct Juice: Decodable, Equatable {
            let id: String
            let name: Name
            let aliases: [String]
        }

        let juices: [Juice]
    }

    /// The page's search field needs all that people call a juice.
    @Test func theAnswerHasAllNamesOfAJuice() throws {
        let configuration = KioskConfiguration(kafka: KafkaConfiguration([:]), topics: TopicNames(), group: "g")
        let answer = try JSONDecoder().decode(Answer.self, from: JSONEncoder().encode(MenuAnswer(configuration)))
        let mangoKiwi = Answer.Juice(id: "mangoKiwi", name: Answer.Name(en: "mango kiwi juice", ko: "망고키위쥬스"), aliases: ["망키쥬스"])
        #expect(answer.juices.last == mangoKiwi)
        #expect(answer.juices.first?.aliases == [])
    }
}
