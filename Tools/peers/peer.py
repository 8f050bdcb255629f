"""What the peers in Python have in common: their options, and the stock of all stores, in memory alone."""

import argparse
import json

import orjson


def options():
    """The options that `lab bench` gives every peer."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--kafka-property-file")
    parser.add_argument("--input", required=True, help="the topic of the orders")
    parser.add_argument("--output", required=True, help="the topic of the answers")
    parser.add_argument("--group", required=True)
    parser.add_argument("--menu", required=True, help="a file as `juice serve --menu` reads it")
    return parser.parse_args()


def properties(options):
    """The librdkafka properties of the property file."""
    if not options.kafka_property_file:
        return {}
    with open(options.kafka_property_file, encoding="utf-8") as file:
        lines = [line.strip() for line in file]
    pairs = [line.split("=", 1) for line in lines if line and not line.startswith("#")]
    return {name.strip(): value.strip() for name, value in pairs}


class Shop:
    """Answers orders of one juice each."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            menu = json.load(file)
        self.initial = {fruit["id"]: fruit["initialStock"] for fruit in menu["fruits"]}
        self.juices = {juice["id"]: (juice["name"]["en"], list(juice["recipe"].items())) for juice in menu["juices"]}
        self.stores = {}

    def answer(self, store, offset, order):
        """The answer to an order, as bytes."""
        stock = self.stores.get(store)
        if stock is None:
            stock = self.stores[store] = self.initial.copy()
        juice, quantity = order["juice"], order.get("quantity", 1)
        name, recipe = self.juices[juice]
        answer = {"type": "juiceMade", "orderId": order["orderId"], "store": store, "offset": offset, "juice": juice,
                  "quantity": quantity}
        missing = [{"fruit": fruit, "needed": amount * quantity, "inStock": stock[fruit]}
                   for fruit, amount in recipe if stock[fruit] < amount * quantity]
        if missing:
            answer["type"], answer["fruit"], answer["missing"] = "outOfStock", missing[0]["fruit"], missing
            answer["message"] = f"out of stock ({missing[0]['fruit']})"
        else:
            answer["used"], answer["left"] = {}, {}
            for fruit, amount in recipe:
                stock[fruit] -= amount * quantity
                answer["used"][fruit], answer["left"][fruit] = amount * quantity, stock[fruit]
            answer["message"] = f"juice made: {name}"
        return orjson.dumps(answer)
